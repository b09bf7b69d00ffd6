"""Training of a model that reads documents: a step sees the names of its own time, however it is put together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from onym.train.collective import collective as recipe
from onym.train.collective.context import CollectiveContext
from onym.train.collective.trainer import CollectiveTrainer
from tests.train.tiny import collective_config, furthest, weights_of


def made(tmp_path: Path, encoder: Path, corpus: Path, kb: Path, name: str, **optim: Any) -> CollectiveTrainer:
    options = {"steps": 2, "eval_steps": 2, "precision": "fp32", "learning_rate": 1e-3, "epsilon": 1e-2} | optim
    data = {"hard_negatives": 0, "random_negatives": 0, "similar": 1.0}
    context = CollectiveContext(
        collective_config(encoder, corpus, kb, optim=options, data=data, loss={"link": 0.0}), tmp_path / name
    )
    return recipe.collective(context)


@pytest.mark.slow
def test_accumulation_changes_nothing(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    one = made(tmp_path, encoder, corpus, kb_folder, "one", batch_size=4, gradient_accumulation=1)
    other = made(tmp_path, encoder, corpus, kb_folder, "other", batch_size=2, gradient_accumulation=2)
    assert furthest(weights_of(one.model), weights_of(other.model)) < 1e-5


@pytest.mark.slow
def test_names_are_those_of_the_last_mining(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    config = collective_config(encoder, corpus, kb_folder, optim={"steps": 1, "eval_steps": 1})
    trainer = recipe.collective(CollectiveContext(config, tmp_path))
    assert trainer.negatives is not None
    numbers = torch.tensor([0, 3])
    before = trainer._names({"numbers": numbers})
    assert before["is_positive"].any(1).all()
    assert before["name_ids"].shape[0] == before["is_positive"].shape[1]
    trainer.negatives.hard = [[] for _ in trainer.negatives.hard]
    assert trainer._names({"numbers": numbers})["is_positive"].shape[1] < before["is_positive"].shape[1]
    assert trainer._names({"numbers": torch.tensor([], dtype=torch.long)}) == {}


def test_without_names_nothing_is_selected(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    trainer = made(tmp_path, encoder, corpus, kb_folder, "bare", batch_size=2)
    assert trainer.negatives is None
    assert trainer._names({"numbers": torch.tensor([0])}) == {}
    with pytest.raises(AttributeError):
        _ = trainer.model.names.config
