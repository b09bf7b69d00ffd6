"""Run one training step of each preset that reproduces a paper, at full size: BART-large with random weights, real samples.

BC5CDR replaces corpora that are not available here (COMETA, MedMentions). The precision is the fastest on the machine: fp32, or
bf16 weights with an fp32 master copy.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.decoding import SMALL
from benchmarks.models import model_folder
from benchmarks.report import data_folder
from benchmarks.results.tasks import open_kb
from onym.train.configs import GenerativeTrainingConfig
from onym.train.generative.trainer import GenerativeContext
from onym.train.run import RECIPES
from onym.train.stages import find_preset, presets

LARGE = {
    "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 16, "decoder_attention_heads": 16,
    "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096,
}  # fmt: skip
STAND_IN = "bc5cdr"
_MENTIONS = 64


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--preset", action="append", help="run only this preset; may be repeated")


def run(options: argparse.Namespace) -> dict[str, Any]:
    names = options.preset or [name for name in presets() if name.startswith(("genbioel-", "angel-"))]
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        model = _model(Path(folder) / "model", SMALL if options.quick else LARGE)
        for name in names:
            began = time.monotonic()
            steps = _steps_apart(name, model, Path(folder) / name)
            shutil.rmtree(Path(folder) / name)  # delete the checkpoint of this preset, which has several GB
            figures[name] = {"steps": steps, "seconds": round(time.monotonic() - began, 1)}
            print(f"{name}: {figures[name]}", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
    return {"presets": figures, "stepped": sum(each["steps"] == 1 for each in figures.values()), "peak_gb": round(peak, 1)}


def _steps_apart(name: str, model: Path, work: Path) -> int:
    """Run one step in a separate process, because a trainer's memory is freed only when its process ends."""
    command = [sys.executable, "-m", "benchmarks.speed.preset_steps", name, str(model), str(work)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout)


def _model(folder: Path, shape: dict[str, int]) -> Path:
    from transformers import BartConfig, BartForConditionalGeneration

    BartForConditionalGeneration(BartConfig(vocab_size=50265, **shape)).save_pretrained(folder)
    shutil.copy(model_folder("bart-tokenizer") / "tokenizer.json", folder)
    return folder


def _step(name: str, model: Path, work: Path) -> int:
    """Run one step of a preset, and return the number of steps that the trainer reports."""
    values = find_preset(name)
    values["start"]["model"] = str(model)
    data = values.setdefault("data", {})
    data["kb"] = str(open_kb().folder.parent)
    if data.get("dataset") in ("cometa", "medmentions-st21pv"):
        data["dataset"] = STAND_IN
    if str(data.get("dataset", "")).startswith("askapatient"):
        data.pop("kb")
    optim = values.setdefault("optim", {})
    optim |= {"steps": 1, "warmup_steps": 0, "eval_steps": 1}
    values["dev"] = {"mentions": 0}
    if values["stage"] == "prefer":  # a random model is rarely right, so take similar names as its wrong answers
        values["prefer"] |= {"rounds": 1, "negatives": "similar", "epochs": 1e-9}
    context = GenerativeContext(GenerativeTrainingConfig.of(values, name), work, data_folder())
    if context.dataset is not None:
        vars(context)["mentions"] = context.mentions[:_MENTIONS]  # enough mentions for one step
    return int(RECIPES[values["stage"]].train(context).state.global_step)


if __name__ == "__main__":
    print(_step(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
