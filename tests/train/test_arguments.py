"""Trainer is told what our configuration says, and nothing that would let a resumption differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.train.arguments import METRIC, arguments
from onym.train.config import OptimConfig

OPTIM = OptimConfig(
    steps=70, batch=3, accumulation=5, learning_rate=2e-4, warmup=7, schedule="cosine", weight_decay=0.3, epsilon=1e-7,
    betas=(0.8, 0.95), clip=0.7, precision="fp32", seed=11, every=35,
)  # fmt: skip


def test_every_value_arrives(tmp_path: Path) -> None:
    told = arguments(tmp_path, OPTIM, METRIC)
    assert (told.max_steps, told.per_device_train_batch_size, told.gradient_accumulation_steps) == (70, 3, 5)
    assert (told.learning_rate, told.warmup_steps, told.lr_scheduler_type, told.weight_decay) == (2e-4, 7, "cosine", 0.3)
    assert (told.adam_epsilon, told.adam_beta1, told.adam_beta2, told.max_grad_norm) == (1e-7, 0.8, 0.95, 0.7)
    assert (told.seed, told.eval_steps, told.save_steps) == (11, 35, 35)
    assert Path(told.output_dir).parent == tmp_path
    assert told.train_sampling_strategy == "sequential"


@pytest.mark.parametrize(("precision", "is_cast"), [("fp32", False), ("bf16", True), ("bf16-weights", False)])
def test_the_precision(tmp_path: Path, precision: str, is_cast: bool) -> None:
    told = arguments(tmp_path, OPTIM.model_copy(update={"precision": precision}))
    assert (told.bf16, told.fp16) == (is_cast, False)


def test_with_and_without_a_score_on_dev(tmp_path: Path) -> None:
    told, bare = (arguments(tmp_path, OPTIM, metric) for metric in (METRIC, ""))
    assert (told.load_best_model_at_end, told.metric_for_best_model, told.greater_is_better) == (True, METRIC, True)
    assert (bare.load_best_model_at_end, str(bare.eval_strategy.value)) == (False, "no")
    assert (told.eval_on_start, bare.eval_on_start) == (True, False)
