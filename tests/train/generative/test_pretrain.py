"""Pre-training on a knowledge base alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.torch import load_file

from onym.train.run import train
from tests.train.made import open_linker, record
from tests.train.tiny import config


@pytest.mark.slow
def test_a_model_of_a_knowledge_base_alone(tmp_path: Path, model: Path, kb_folder: Path) -> None:
    made = train(config("pretrain", model, None, kb_folder), tmp_path / "made")
    open_linker(made, kb_folder)
    found = record(made)
    assert (found["stage"], found["corpus"], found["metrics"]) == ("pretrain", {}, {})
    before, after = (load_file(folder / "model.safetensors") for folder in (model, made))
    assert any((before[name] != after[name]).any() for name in before)


@pytest.mark.slow
@pytest.mark.parametrize("mention", ["random", "similar"])
def test_a_score_on_dev_where_a_corpus_is_named(
    tmp_path: Path, model: Path, corpus: Path, kb_folder: Path, mention: str
) -> None:
    training_config = config(
        "pretrain", model, corpus, kb_folder, data={"mention": mention}, dev={"mentions": 2}, optim={"eval_steps": 2}
    )
    assert record(train(training_config, tmp_path / "made"))["metrics"].keys() == {"dev_r1", "dev_r5"}
