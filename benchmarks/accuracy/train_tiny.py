"""Train briefly on part of NCBI disease, with the preset for few cores; fail unless the dev score rises."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.models import model_folder
from benchmarks.report import data_folder
from benchmarks.results.tasks import open_quick_task, open_task
from onym.train.configs import GenerativeTrainingConfig
from onym.train.generative.trainer import GenerativeContext, finetune
from onym.train.stages import read_values
from onym.train.trainer import METRIC

START = "flan-t5-small"
MARGIN = 20.0
"""Required gain of recall@1 on dev, in points."""
STEPS, QUICK_STEPS = 60, 8
MENTIONS, QUICK_MENTIONS = 100, 25


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--steps", type=int, help=f"training steps of 32 samples; by default {STEPS}")


def run(options: argparse.Namespace) -> dict[str, Any]:
    steps = options.steps or (QUICK_STEPS if options.quick else STEPS)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        scores = _scores(steps, Path(folder), quick=options.quick)
    seconds = round(time.monotonic() - began, 1)
    figures = {"start_r1": round(scores[0], 1), "end_r1": round(scores[-1], 1), "seconds": seconds, "model": START}
    if scores[-1] < scores[0] + MARGIN:
        sys.exit(f"recall@1 on dev did not rise by {MARGIN}: {figures}")
    return figures


def _scores(steps: int, folder: Path, *, quick: bool) -> list[float]:
    dev = open_quick_task("dev") if quick else open_task("ncbi_disease", "dev")
    settings = {
        "start.model": model_folder(START),
        "data.dataset": "ncbi-disease-genbioel",
        "data.exclude_splits": ["dev"],
        "data.kb": dev.kb.folder.parent,
        "dev.kb": dev.kb.folder.parent,
        "dev.mentions": QUICK_MENTIONS if quick else MENTIONS,
        "optim.steps": steps,
        "optim.eval_steps": steps,
        "optim.warmup_steps": 5,
    }
    values = read_values("finetune", None, "cpu-small", [f"{key}={value}" for key, value in settings.items()])
    config = GenerativeTrainingConfig.of(values)
    trainer = finetune(GenerativeContext(config, folder, data_folder()))
    return [entry[METRIC] for entry in trainer.state.log_history if METRIC in entry]
