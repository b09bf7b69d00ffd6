"""Two devices that share each step learn what one device learns from the same samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file

from onym.train.configs import TrainingStage
from onym.train.run import train
from tests.train.launched import on_two_devices
from tests.train.tiny import config, furthest, losses

STAGES: tuple[TrainingStage, ...] = ("finetune", "prefer")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, model: Path, corpus: Path, kb_folder: Path) -> Path:
    """Train both ways: eight samples a step on one device, and four on each of two."""
    folder = tmp_path_factory.mktemp("devices")
    sizes = {
        (stage, name): config(
            stage,
            model,
            corpus,
            kb_folder,
            start={"dropout": 0.0, "attention_dropout": 0.0},
            dev={"mentions": 4},
            optim={"steps": 4, "eval_steps": 2, "batch_size": batch, "epsilon": 1e-4, "label_smoothing": 0.1},
        )
        for stage in STAGES
        for name, batch in (("one", 8), ("two", 4))
    }
    for stage in STAGES:
        train(sizes[stage, "one"], folder / f"{stage}-one")
    on_two_devices(folder, {f"{stage}-two": sizes[stage, "two"] for stage in STAGES})
    return folder


@pytest.mark.parametrize("stage", STAGES)
def test_the_losses_and_the_weights_are_those_of_one_device(folder: Path, stage: str) -> None:
    one, two = folder / f"{stage}-one", folder / f"{stage}-two"
    assert len(losses(one)) >= 4
    assert losses(two) == pytest.approx(losses(one), abs=1e-4)
    assert furthest(load_file(two / "model.safetensors"), load_file(one / "model.safetensors")) < 1e-4


@pytest.mark.parametrize("stage", STAGES)
def test_as_many_steps_and_as_much_of_the_data_are_seen(folder: Path, stage: str) -> None:
    records = [json.loads((folder / f"{stage}-{name}" / "training.json").read_text()) for name in ("one", "two")]
    assert records[0]["steps"] == records[1]["steps"]
    assert records[0]["metrics"] == pytest.approx(records[1]["metrics"])


def test_each_step_sees_other_samples(folder: Path) -> None:
    """Were the samples counted for one device alone, two would see the first half of them twice."""
    assert len({round(loss, 6) for loss in losses(folder / "finetune-two")}) == 4
