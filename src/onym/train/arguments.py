"""Trainer's own configuration, by ours."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from transformers import TrainingArguments

from onym.train.config import StepsConfig

METRIC = "eval_dev_r1"
"""The score by which the best model is kept, where a training has none of its own."""


def arguments(folder: Path, optim: StepsConfig, metric: str = "") -> TrainingArguments:
    """Return Trainer's own configuration. By the `metric` the best model is kept; without one there is no score on dev."""
    has_dev = bool(metric)
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / "tensorboard")  # Trainer asks for it nowhere else
    return TrainingArguments(
        output_dir=str(folder / "checkpoints"),
        max_steps=optim.steps,
        per_device_train_batch_size=optim.batch,
        gradient_accumulation_steps=optim.accumulation,
        learning_rate=optim.learning_rate,
        warmup_steps=optim.warmup,
        lr_scheduler_type=optim.schedule,
        weight_decay=optim.weight_decay,
        adam_epsilon=optim.epsilon,
        adam_beta1=optim.betas[0],
        adam_beta2=optim.betas[1],
        max_grad_norm=optim.clip,
        bf16=optim.precision == "bf16",
        seed=optim.seed,
        use_cpu=not torch.cuda.is_available(),
        train_sampling_strategy="sequential",  # samples bring their own order, which does not depend on where one resumes
        eval_strategy="steps" if has_dev else "no",
        eval_steps=optim.every,
        eval_on_start=has_dev,
        save_strategy="steps",
        save_steps=optim.every,
        load_best_model_at_end=has_dev,
        metric_for_best_model=metric or None,
        greater_is_better=True if has_dev else None,
        logging_steps=max(1, min(50, optim.every // 10)),
        report_to=["tensorboard"],
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        restore_callback_states_from_checkpoint=True,
        disable_tqdm=not os.isatty(2),
    )
