"""Tests of the trainer of all models, with its log, clock and checkpoints."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from onym.train import trainer as callbacks
from onym.train import trainer as trainer_module
from onym.train.configs import GenerativeOptimConfig
from onym.train.samples.base import Batch, Sample
from onym.train.trainer import SEAL, Clock, LogFile, find_complete_checkpoints, is_sealed, prune, seal
from tests.support.models import tiny_bart
from tests.train.tiny import COLLATE, are_equal, furthest, optim, samples, train_model, weights_of

PRECISIONS = ["fp32", "bf16", "bf16-weights"]
TEN = {"steps": 10, "eval_steps": 2, "batch_size": 2, "gradient_accumulation": 2, "schedule": "linear", "warmup_steps": 3}
"""Ten steps, each of two batches, and a checkpoint after every second."""


def still_bart() -> Any:
    """Return the tiny model without dropout."""
    return tiny_bart(dropout=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16-weights"])
def test_the_same_weights_decay_in_each_precision(tmp_path: Path, precision: str) -> None:
    """Weight decay is set so high that it dominates all updates; biases and norms must not be decayed."""
    model = still_bart()
    before = weights_of(model)
    train_model(model, samples(4), tmp_path, optim(steps=1, learning_rate=1e-3, weight_decay=500.0, precision=precision))
    for name, value in model.named_parameters():
        ratio = float(value.detach().norm() / before[name].norm())
        assert ratio == pytest.approx(1.0 if re.search(r"bias$|norm", name) else 0.5, abs=0.02), name


# Batches.
@pytest.mark.slow
@pytest.mark.parametrize(("batch", "accumulation"), [(1, 8), (4, 2), (2, 4)])
def test_gradient_accumulation_equals_one_batch(tmp_path: Path, batch: int, accumulation: int) -> None:
    """Names differ in length, so the loss is not the mean of the batch means."""
    found = []
    for name, size, times in (("whole", 8, 1), ("parts", batch, accumulation)):
        model = still_bart()
        settings = optim(steps=1, eval_steps=1, batch_size=size, gradient_accumulation=times, epsilon=1e-3, label_smoothing=0.1)
        trainer = train_model(model, samples(8), tmp_path / name, settings)  # too few samples for grouping by length
        found.append((weights_of(model), [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]))
    assert furthest(found[0][0], found[1][0]) < 1e-6
    assert found[0][1] == pytest.approx(found[1][1], abs=1e-5)


@pytest.mark.slow
def test_each_sample_is_seen_once(tmp_path: Path) -> None:
    dataset = samples(64 * 3)
    train_model(still_bart(), dataset, tmp_path, optim(steps=48, batch_size=4))
    assert sorted(dataset.indices) == list(range(192))


# Resuming.
class Counted:
    """Collate function that counts batches and raises at batch number `stop`."""

    def __init__(self, stop: int | None = None) -> None:
        self.stop, self.made = stop, 0

    def __call__(self, batch: Sequence[Sample]) -> Batch:
        if self.made == self.stop:
            raise RuntimeError("stopped")
        self.made += 1
        return COLLATE(batch)


@pytest.fixture(scope="module", params=PRECISIONS)
def reference_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[GenerativeOptimConfig, dict[str, Tensor]]:
    """Train a model with dropout for ten steps without interruption; return the settings and the final weights."""
    settings, model = optim(precision=request.param, **TEN), tiny_bart(dropout=0.3)
    train_model(model, samples(40), tmp_path_factory.mktemp("whole"), settings)
    return settings, weights_of(model)


def stop_training(folder: Path, settings: GenerativeOptimConfig, batch: int, **more: Any) -> None:
    with pytest.raises(RuntimeError, match="stopped"):
        train_model(tiny_bart(dropout=0.3), samples(40), folder, settings, Counted(batch), **more)


@pytest.mark.slow
def test_trains_with_dropout(tmp_path: Path, reference_run: tuple[GenerativeOptimConfig, dict[str, Tensor]]) -> None:
    settings, weights = reference_run
    model = tiny_bart(dropout=0.0)
    train_model(model, samples(40), tmp_path, settings)
    assert furthest(weights_of(model), weights) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("batch", [0, 3, 5, 9, 19])
def test_resumed_training_equals_uninterrupted(
    tmp_path: Path, reference_run: tuple[GenerativeOptimConfig, dict[str, Tensor]], batch: int
) -> None:
    settings, weights = reference_run
    stop_training(tmp_path, settings, batch)
    model, counted = tiny_bart(dropout=0.3), Counted()
    torch.manual_seed(99)
    train_model(model, samples(40), tmp_path, settings, counted)
    assert are_equal(weights_of(model), weights)
    assert counted.made == 20 - max(0, batch - 1) // 4 * 4, "should resume from the last checkpoint"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["unsealed", "cut", "gone"])
def test_does_not_resume_from_incomplete_checkpoint(
    tmp_path: Path, reference_run: tuple[GenerativeOptimConfig, dict[str, Tensor]], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, weights = reference_run
    # Simulates a machine that stops before old checkpoints are deleted.
    monkeypatch.setattr(trainer_module, "prune", lambda *_, **__: None)
    stop_training(tmp_path, settings, 15)
    checkpoints = tmp_path / "checkpoints"
    assert {path.name for path in checkpoints.iterdir()} == {"checkpoint-2", "checkpoint-4", "checkpoint-6"}
    if how == "unsealed":
        (checkpoints / "checkpoint-6" / "sealed.json").unlink()
    else:
        file = checkpoints / "checkpoint-6" / "optimizer.pt"
        file.write_bytes(file.read_bytes()[:-100]) if how == "cut" else file.unlink()
    model, counted = tiny_bart(dropout=0.3), Counted()
    train_model(model, samples(40), tmp_path, settings, counted)
    assert counted.made == 12
    assert are_equal(weights_of(model), weights)


@pytest.mark.slow
def test_does_not_repeat_finished_training(tmp_path: Path) -> None:
    one, other, counted = tiny_bart(), tiny_bart(), Counted()
    train_model(one, samples(40), tmp_path, optim(**TEN))
    train_model(other, samples(40), tmp_path, optim(**TEN), counted)
    assert counted.made == 0
    assert are_equal(weights_of(one), weights_of(other))


@pytest.mark.slow
def test_keeps_only_last_checkpoint_without_pickled_arguments(tmp_path: Path) -> None:
    model = tiny_bart()
    train_model(model, samples(40), tmp_path, optim(**TEN))
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["checkpoint-10"]
    files = {path.name for path in (tmp_path / "checkpoints" / "checkpoint-10").iterdir()}
    assert {"model.safetensors", "optimizer.pt", "sealed.json", "config.json"} <= files
    assert "training_args.bin" not in files
    kept = load_file(tmp_path / "checkpoints" / "checkpoint-10" / "model.safetensors")
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in kept.items())


# Tests of the evaluation on dev during training.
class Scripted:
    """A fake evaluation that returns the given scores and records the weights of the model each time."""

    def __init__(self, *scores: float) -> None:
        self.scores, self.indices = list(scores), list[dict[str, Tensor]]()

    def __call__(self, model: Any) -> dict[str, float]:
        assert next(model.parameters()).dtype == torch.float32
        self.indices.append(weights_of(model))
        return {"dev_r1": self.scores[len(self.indices) - 1], "dev_r5": 99.0}


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRECISIONS)
def test_keeps_best_model_on_dev(tmp_path: Path, precision: str) -> None:
    model, dev = tiny_bart(), Scripted(5.0, 10.0, 30.0, 20.0, 25.0, 15.0)
    trainer = train_model(model, samples(40), tmp_path, optim(precision=precision, **TEN), dev=dev)
    assert len(dev.indices) == 6
    assert trainer.metrics() == {"dev_r1": 30.0, "dev_r5": 99.0}
    assert trainer.state.best_global_step == 4
    assert furthest(weights_of(model), dev.indices[2]) <= (0.02 if precision == "bf16-weights" else 0)
    assert furthest(weights_of(model), dev.indices[3]) > 1e-3
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == {"checkpoint-4", "checkpoint-10"}
    assert {value.dtype for value in model.state_dict().values()} == {torch.float32}


@pytest.mark.slow
@pytest.mark.parametrize("batch", [None, 2, 7, 11, 15, 19, 23])
def test_early_stopping_survives_resume(tmp_path: Path, batch: int | None) -> None:
    """Training stops after two scores without improvement. Resuming must not evaluate again, which would count as one more."""
    settings, scores = optim(**(TEN | {"steps": 20})), (5.0, 10.0, 30.0, 20.0, 40.0, 35.0, 30.0, 99.0)
    seen = 0
    if batch is not None:
        dev = Scripted(*scores)
        with pytest.raises(RuntimeError, match="stopped"):
            train_model(tiny_bart(), samples(80), tmp_path, settings, Counted(batch), dev=dev, patience=2)
        seen = 0 if batch < 5 else len(dev.indices)
    trainer = train_model(tiny_bart(), samples(80), tmp_path, settings, dev=Scripted(*scores[seen:]), patience=2)
    logged = [(entry["step"], entry["eval_dev_r1"]) for entry in trainer.state.log_history if "eval_dev_r1" in entry]
    assert logged == [(0, 5.0), (2, 10.0), (4, 30.0), (6, 20.0), (8, 40.0), (10, 35.0), (12, 30.0)]
    assert trainer.state.best_global_step == 8


# Logs.
@pytest.mark.slow
def test_log_has_each_step_once_after_resume(tmp_path: Path) -> None:
    stop_training(tmp_path, optim(**TEN), 13)
    train_model(tiny_bart(dropout=0.3), samples(40), tmp_path, optim(**TEN))
    entries = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in entries if "loss" in entry] == list(range(1, 11))


@pytest.mark.slow
def test_two_runs_in_one_process_have_separate_logs(tmp_path: Path) -> None:
    for name in ("one", "two"):
        train_model(still_bart(), samples(8), tmp_path / name, optim(steps=2))
        assert len(list((tmp_path / name / "tensorboard").rglob("events*"))) == 1


def test_prints_nothing_to_stdout(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    train_model(still_bart(), samples(8), tmp_path, optim(steps=2))
    output = capfd.readouterr()
    assert output.out == ""
    assert "shards" not in output.err


class Time:
    """A fake clock."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(callbacks, "time", made)
    return made


def test_clock_adds_time_between_steps(time: Time) -> None:
    clock = Clock()
    for now in (103.0, 110.0):
        time.now = now
        clock.on_step_end(None, None, None)
    assert clock.seconds == 10.0


def test_clock_resumes_without_the_time_between_runs(time: Time) -> None:
    first = Clock()
    time.now = 107.0
    first.on_step_end(None, None, None)
    kept = json.loads(json.dumps(first.state()))
    time.now = 5000.0
    second = Clock.from_state(kept)
    time.now = 5002.0
    second.on_step_end(None, None, None)
    assert second.seconds == 9.0


def test_log_file_equals_the_history(tmp_path: Path) -> None:
    log, state = LogFile(tmp_path), SimpleNamespace(is_world_process_zero=True, log_history=[{"step": 1}, {"step": 2}])
    with_bar = SimpleNamespace(disable_tqdm=False)
    log.on_log(with_bar, state, None)
    state.log_history = [{"step": 1}]
    log.on_log(with_bar, state, None)
    assert (tmp_path / "log.jsonl").read_text() == '{"step": 1}\n'
    state.is_world_process_zero, state.log_history = False, []
    log.on_log(with_bar, state, None)
    assert (tmp_path / "log.jsonl").read_text() == '{"step": 1}\n'


@pytest.mark.parametrize("has_bar", [False, True])
def test_step_is_logged_every_half_minute_unless_a_bar_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, has_bar: bool
) -> None:
    clock = [0.0]
    monkeypatch.setattr("onym.train.trainer.time.monotonic", lambda: clock[0])
    caplog.set_level("INFO", "onym.train")
    log = LogFile(tmp_path)
    for step in range(1, 8):
        clock[0] = 10.0 * step
        state = SimpleNamespace(is_world_process_zero=True, log_history=[], global_step=step, max_steps=9)
        log.on_log(SimpleNamespace(disable_tqdm=not has_bar), state, None)
    assert caplog.messages == ([] if has_bar else ["step 3 of 9", "step 6 of 9"])


def checkpoint(folder: Path, number: int) -> Path:
    path = folder / f"checkpoint-{number}"
    (path / "optimizer_0").mkdir(parents=True)
    (path / "model.safetensors").write_bytes(b"weights")
    (path / "optimizer_0" / "__0_0.distcp").write_bytes(b"sharded")
    seal(path)
    return path


def test_sorts_checkpoints_by_step(tmp_path: Path) -> None:
    for number in (100, 20, 3):
        checkpoint(tmp_path, number)
    (tmp_path / "checkpoint-last").mkdir()
    assert [path.name for path in find_complete_checkpoints(tmp_path)] == ["checkpoint-3", "checkpoint-20", "checkpoint-100"]
    assert find_complete_checkpoints(tmp_path / "none") == []


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer_0/__0_0.distcp"])
@pytest.mark.parametrize("how", ["gone", "short", "long"])
def test_ignores_checkpoint_with_missing_or_changed_file(tmp_path: Path, name: str, how: str) -> None:
    good, torn = checkpoint(tmp_path, 1), checkpoint(tmp_path, 2)
    assert find_complete_checkpoints(tmp_path) == [good, torn]
    file = torn / name
    if how == "gone":
        file.unlink()
    else:
        file.write_bytes(b"x" if how == "short" else file.read_bytes() + b"x")
    assert find_complete_checkpoints(tmp_path) == [good]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"none": 1}'])
def test_ignores_checkpoint_with_invalid_seal(tmp_path: Path, text: str) -> None:
    path = checkpoint(tmp_path, 1)
    (path / SEAL).write_text(text)
    assert not is_sealed(path)
    (path / SEAL).unlink()
    assert not is_sealed(path)


def test_checkpoint_can_be_sealed_again(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, 1)
    (path / "model.safetensors").write_bytes(b"other weights")
    assert not is_sealed(path)
    seal(path)
    assert is_sealed(path)


def test_prune_removes_other_checkpoints(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        checkpoint(tmp_path, number)
    (tmp_path / "checkpoint-2" / SEAL).unlink()
    (tmp_path / "other").mkdir()
    prune(tmp_path, {"checkpoint-1", "checkpoint-3"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-1", "checkpoint-3", "other"]
