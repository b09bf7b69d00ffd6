"""Tests that a training process that is killed and restarted ends with the same weights as an uninterrupted one."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

from onym.train.configs import GenerativeTrainingConfig
from onym.train.run import train
from onym.train.trainer import find_complete_checkpoints
from tests.train.launched import environment
from tests.train.tiny import are_equal, config, settings_of

PRECISIONS = ("fp32", "bf16-weights")
STEPS = {
    "steps": 100,
    "eval_steps": 10,
    "batch_size": 2,
    "gradient_accumulation": 2,
    "learning_rate": 1e-3,
    "schedule": "linear",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def configs(model: Path, corpus: Path, kb_folder: Path) -> dict[str, GenerativeTrainingConfig]:
    """Return a configuration for each precision, with dropout."""
    still = {"dropout": 0.3, "attention_dropout": 0.1}
    steps = {name: STEPS | {"precision": name} for name in PRECISIONS}
    return {name: config("finetune", model, corpus, kb_folder, start=still, optim=steps[name]) for name in PRECISIONS}


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory, configs: dict[str, GenerativeTrainingConfig]) -> Path:
    """Start both training runs with the command line, and kill each between two checkpoints."""
    folder, draw = tmp_path_factory.mktemp("killed"), random.Random()
    moments = {name: (draw.randint(1, 5) * 10, draw.random() * 0.2) for name in PRECISIONS}
    processes = {}
    for name in PRECISIONS:
        words = [word for context in settings_of(configs[name]) for word in ("--set", context)]
        words = [sys.executable, "-m", "onym", "train", "finetune", *words, "-o", str(folder / name)]
        processes[name] = subprocess.Popen(words, env=environment(), cwd=folder, stderr=subprocess.PIPE, text=True)
    due: dict[str, float] = {}
    while processes:
        for name, process in list(processes.items()):
            step, pause = moments[name]
            assert process.poll() is None, f"{name} was done before it was killed: {process.communicate()[1]}"
            if any(
                int(path.name.split("-")[1]) >= step
                for path in find_complete_checkpoints(folder / f"{name}.work" / "checkpoints")
            ):
                due.setdefault(name, time.monotonic() + pause)
            if time.monotonic() >= due.get(name, float("inf")):
                process.send_signal(signal.SIGKILL)
                process.communicate()
                assert processes.pop(name).returncode == -signal.SIGKILL
        time.sleep(0.01)
    return folder


@pytest.mark.parametrize("precision", PRECISIONS)
def test_killed_training_resumes_to_the_same_weights(
    tmp_path: Path, run_folder: Path, configs: dict[str, GenerativeTrainingConfig], precision: str
) -> None:
    assert not (run_folder / precision).exists()
    assert find_complete_checkpoints(run_folder / f"{precision}.work" / "checkpoints")
    again, whole = train(configs[precision], run_folder / precision), train(configs[precision], tmp_path / "whole")
    assert are_equal(load_file(again / "model.safetensors"), load_file(whole / "model.safetensors"))
    assert [path.name for path in (run_folder / f"{precision}.work" / "checkpoints").iterdir()] == ["checkpoint-100"]
