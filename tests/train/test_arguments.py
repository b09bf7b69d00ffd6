"""Trainer gets what our configuration says, on our device, and nothing that would let a resumption differ."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from onym.errors import ConfigError
from onym.models import device
from onym.train.arguments import METRIC, arguments, training_device, training_precision
from onym.train.config import OptimConfig
from onym.train.generative.config import GenerativeOptimConfig

OPTIM = GenerativeOptimConfig(
    steps=70, batch_size=3, gradient_accumulation=5, learning_rate=2e-4, warmup_steps=7, schedule="cosine", weight_decay=0.3,
    epsilon=1e-7, betas=(0.8, 0.95), max_grad_norm=0.7, precision="fp32", seed=11, eval_steps=35,
)  # fmt: skip


def test_each_value_arrives(tmp_path: Path) -> None:
    args = arguments(tmp_path, OPTIM, METRIC)
    assert (args.max_steps, args.per_device_train_batch_size, args.gradient_accumulation_steps) == (70, 3, 5)
    assert (args.learning_rate, args.warmup_steps, args.lr_scheduler_type, args.weight_decay) == (2e-4, 7, "cosine", 0.3)
    assert (args.adam_epsilon, args.adam_beta1, args.adam_beta2, args.max_grad_norm) == (1e-7, 0.8, 0.95, 0.7)
    assert (args.seed, args.eval_steps, args.save_steps) == (11, 35, 35)
    assert Path(args.output_dir).parent == tmp_path
    assert args.train_sampling_strategy == "sequential"


@pytest.mark.parametrize(("precision", "is_cast"), [("fp32", False), ("bf16", True), ("bf16-weights", False)])
def test_the_precision(tmp_path: Path, precision: str, is_cast: bool) -> None:
    args = arguments(tmp_path, OPTIM.model_copy(update={"precision": precision}))
    assert (args.bf16, args.fp16) == (is_cast, False)


def test_with_and_without_a_score_on_dev(tmp_path: Path) -> None:
    args, bare = (arguments(tmp_path, OPTIM, metric) for metric in (METRIC, ""))
    assert (args.load_best_model_at_end, args.metric_for_best_model, args.greater_is_better) == (True, METRIC, True)
    assert (bare.load_best_model_at_end, str(bare.eval_strategy.value)) == (False, "no")
    assert (args.eval_on_start, bare.eval_on_start) == (True, False)


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[torch.device]:
    """Pretend that there are two GPUs; return those that were made the current one."""
    current: list[torch.device] = []
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: not including_emulation)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    return current


def test_the_device(gpus: list[torch.device], monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(gpus) == 0
    assert [str(training_device(OptimConfig(device=name))) for name in ("cpu", "auto", "cuda:1")] == ["cpu", "cuda:0", "cuda:1"]
    with pytest.raises(ConfigError, match="device-unavailable"):
        training_device(OptimConfig(device="cuda:7"))
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert str(training_device(OptimConfig())) == "cuda:1", "each process has a GPU of its own"
    assert str(training_device(OptimConfig(device="cpu"))) == "cpu"
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert str(training_device(OptimConfig())) == "cpu"


@pytest.mark.parametrize("name", ["cuda", "cuda:1"])
def test_trainer_uses_that_gpu_alone(tmp_path: Path, gpus: list[torch.device], name: str) -> None:
    """By itself it would take the first, and copy the model to all others."""
    args = arguments(tmp_path, OptimConfig(device=name, precision="fp32"))
    wanted = training_device(OptimConfig(device=name))
    assert (args.device, args.n_gpu, args.use_cpu) == (wanted, 1, False)
    assert gpus[-1] == wanted


def test_trainer_uses_the_cpu_where_it_is_wanted(tmp_path: Path, gpus: list[torch.device]) -> None:
    args = arguments(tmp_path, OptimConfig(device="cpu"))
    assert (str(args.device), args.n_gpu, args.use_cpu) == ("cpu", 0, True)
    assert len(gpus) == 0


@pytest.mark.parametrize(
    ("name", "has_bf16", "sharded", "wanted"),
    [
        ("cpu", False, "", "fp32"),
        ("cpu", True, "", "bf16-weights"),
        ("cpu", True, "true", "bf16"),
        ("cuda", True, "", "bf16"),
        ("cuda", False, "", "fp32"),
    ],
)
def test_the_fastest_precision(
    gpus: list[torch.device], monkeypatch: pytest.MonkeyPatch, name: str, has_bf16: bool, sharded: str, wanted: str
) -> None:
    assert len(gpus) == 0
    monkeypatch.setattr(device, "_has_bf16", lambda _: has_bf16)
    monkeypatch.setenv("ACCELERATE_USE_FSDP", sharded)
    assert training_precision(OptimConfig(device=name)) == wanted
    assert training_precision(OptimConfig(device=name, precision="fp32")) == "fp32"
