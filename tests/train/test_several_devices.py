"""Tests that training on two devices gives the same model as training on one device with the same samples."""

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
    """Train with eight samples per step on one device, and with four on each of two devices."""
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
def test_two_devices_give_losses_and_weights_of_one(folder: Path, stage: str) -> None:
    one, two = folder / f"{stage}-one", folder / f"{stage}-two"
    assert len(losses(one)) >= 4
    assert losses(two) == pytest.approx(losses(one), abs=1e-4)
    assert furthest(load_file(two / "model.safetensors"), load_file(one / "model.safetensors")) < 1e-4


@pytest.mark.parametrize("stage", STAGES)
def test_two_devices_take_same_steps_and_reach_same_metrics(folder: Path, stage: str) -> None:
    records = [json.loads((folder / f"{stage}-{name}" / "training.json").read_text()) for name in ("one", "two")]
    assert records[0]["steps"] == records[1]["steps"]
    assert records[0]["metrics"] == pytest.approx(records[1]["metrics"])


def test_each_step_sees_new_samples(folder: Path) -> None:
    """If the sampler ignored the number of devices, two devices would see the first half of the samples twice."""
    assert len({round(loss, 6) for loss in losses(folder / "finetune-two")}) == 4
