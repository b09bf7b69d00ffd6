"""Training of a model that reads documents: a step sees the names of its own time, however it is put together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from onym.train.collective import collective as recipe
from onym.train.collective.context import CollectiveSetting
from onym.train.collective.trainer import CollectiveTrainer
from tests.train.tiny import collective_config, furthest, weights_of


def made(tmp_path: Path, encoder: Path, corpus: Path, kb: Path, name: str, **optim: Any) -> CollectiveTrainer:
    told = {"steps": 2, "every": 2, "precision": "fp32", "learning_rate": 1e-3, "epsilon": 1e-2} | optim
    data = {"hard": 0, "random": 0, "similar": 1.0}
    setting = CollectiveSetting(
        collective_config(encoder, corpus, kb, optim=told, data=data, loss={"link": 0.0}), tmp_path / name
    )
    return recipe.collective(setting)


def test_accumulation_changes_nothing(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    one = made(tmp_path, encoder, corpus, kb_folder, "one", batch=4, accumulation=1)
    other = made(tmp_path, encoder, corpus, kb_folder, "other", batch=2, accumulation=2)
    assert furthest(weights_of(one.model), weights_of(other.model)) < 1e-5


def test_names_are_those_of_the_last_mining(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    config = collective_config(encoder, corpus, kb_folder, optim={"steps": 1, "every": 1})
    trainer = recipe.collective(CollectiveSetting(config, tmp_path))
    assert trainer.rivals is not None
    numbers = torch.tensor([0, 3])
    before = trainer._names(numbers)
    assert before["right"].any(1).all()
    assert before["name_ids"].shape[0] == before["right"].shape[1]
    trainer.rivals.near = [[] for _ in trainer.rivals.near]
    assert trainer._names(numbers)["right"].shape[1] < before["right"].shape[1]
    assert trainer._names(torch.tensor([], dtype=torch.long)) == {}


def test_without_names_nothing_is_chosen(tmp_path: Path, encoder: Path, corpus: Path, kb_folder: Path) -> None:
    trainer = made(tmp_path, encoder, corpus, kb_folder, "bare", batch=2)
    assert trainer.rivals is None
    assert trainer._names(torch.tensor([0])) == {}
    with pytest.raises(AttributeError):
        _ = trainer.model.names.config
