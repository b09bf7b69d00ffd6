"""The configuration of transformers' Trainer, and the device and the precision that a training runs in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import torch
from transformers import TrainingArguments

from onym.models.device import resolve_device, resolve_precision
from onym.train.config import OptimConfig
from onym.train.sharded import is_sharded

METRIC = "eval_dev_r1"
"""The metric by which the best model is kept, unless a trainer has its own."""


def training_device(optim: OptimConfig) -> torch.device:
    """Return the device to train on; of several processes each has a GPU of its own.

    >>> training_device(OptimConfig(device="cpu"))
    device(type='cpu')
    """
    device = resolve_device("cpu" if os.environ.get("ACCELERATE_USE_CPU", "").lower() == "true" else optim.device)
    rank = os.environ.get("LOCAL_RANK")
    return torch.device("cuda", int(rank)) if device.type == "cuda" and rank else device


def training_precision(optim: OptimConfig) -> Literal["fp32", "bf16", "bf16-weights"]:
    """Return the precision to train in; `auto` is the fastest of the device.

    On a CPU with bf16 that is `bf16-weights`, unless FSDP shards the weights; on a GPU with bf16 it is `bf16`.

    >>> training_precision(OptimConfig(precision="bf16-weights"))
    'bf16-weights'
    """
    if optim.precision != "auto":
        return optim.precision
    device = training_device(optim)
    precision = resolve_precision("auto", device)
    return "bf16-weights" if precision == "bf16" and device.type == "cpu" and not is_sharded() else precision


def arguments(folder: Path, optim: OptimConfig, metric: str = "") -> TrainingArguments:
    """Return Trainer's own configuration. The best model is kept by `metric`; without one there is no evaluation."""
    has_dev, device = bool(metric), training_device(optim)
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / "tensorboard")  # Trainer reads it nowhere else
    found = TrainingArguments(
        output_dir=str(folder / "checkpoints"),
        max_steps=optim.steps,
        per_device_train_batch_size=optim.batch_size,
        gradient_accumulation_steps=optim.gradient_accumulation,
        learning_rate=optim.learning_rate,
        warmup_steps=optim.warmup_steps,
        lr_scheduler_type=optim.schedule,
        weight_decay=optim.weight_decay,
        adam_epsilon=optim.epsilon,
        adam_beta1=optim.betas[0],
        adam_beta2=optim.betas[1],
        max_grad_norm=optim.max_grad_norm,
        bf16=training_precision(optim) == "bf16",
        seed=optim.seed,
        use_cpu=device.type == "cpu",
        train_sampling_strategy="sequential",  # samples bring their own order, which does not depend on where one resumes
        eval_strategy="steps" if has_dev else "no",
        eval_steps=optim.eval_steps,
        eval_on_start=has_dev,
        save_strategy="steps",
        save_steps=optim.eval_steps,
        load_best_model_at_end=has_dev,
        metric_for_best_model=metric or None,
        greater_is_better=True if has_dev else None,
        logging_steps=max(1, min(50, optim.eval_steps // 10)),
        report_to=["tensorboard"],
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        restore_callback_states_from_checkpoint=True,
        disable_tqdm=not os.isatty(2),
    )
    if device.type == "cuda" and "LOCAL_RANK" not in os.environ:
        _use_one_gpu(found, device)
    return found


def _use_one_gpu(found: TrainingArguments, device: torch.device) -> None:
    """Have Trainer use this GPU alone: by itself one process would take the first, and copy the model to all others."""
    torch.cuda.set_device(device)
    vars(found)["_setup_devices"] = device
    found._n_gpu = 1  # noqa: SLF001 - it has no other way in
