"""Train a pipeline on BioRED as if it were a user's own corpus, and compare it with the hand-tuned pipelines.

Runs `onym dataset prepare` and `onym train pipeline`. The pipeline is evaluated on the raw text of the test file (diseases and
chemicals, joined open knowledge base). The hand-tuned pipelines are those of the results page. With `--encoder none` the
detector of both pipelines is the dictionary with its classifier. `--quick` uses few documents, and MEDIC.

hours, cpu_hours      wall time and CPU time of the two commands together
strict_f1             strict F1 on test; `dev_strict_f1` on dev, where the threshold was tuned
hand_made_f1          strict F1 of the hand-tuned pipeline on test, from its stored predictions
points_below          hand_made_f1 - strict_f1
precision_at_95, coverage_at_95  at a target precision of 0.95: share of right answers, and share of answers that remain
resumed               1 if running the same command again leaves the pipeline unchanged
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.models import model_folder
from benchmarks.report import data_folder
from benchmarks.results.e2e_predict import STORE, predict_with
from benchmarks.results.e2e_tasks import JOINED, EndToEndTask, end_to_end_task, judge_found
from benchmarks.results.tasks import medic_kb
from onym.corpora.corpus import write_corpus
from onym.datasets.prepared import open_dataset
from onym.kb import KnowledgeBase
from onym.packs.locate import load
from onym.pipeline.config import FILE

LOWER_BOUNDS = {"resumed": 1}
FULL_BOUNDS = {"hours": 1.0, "points_below": 1.0}
_SPLITS = ("train", "dev", "test")
_QUICK = 24  # documents per split with --quick
_NONE = "none"
_KEY = "biored"
_PRECISION = 0.95


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--encoder", default="granite", help="base model of the detector, or none for the dictionary")
    parser.add_argument("--epochs", type=float, default=0.0, help="training epochs; by default as in `onym train pipeline`")
    parser.add_argument("-o", "--output", type=Path, help="folder to keep the pipeline in; an interrupted run resumes there")


def run(options: argparse.Namespace) -> dict[str, object]:
    encoder = _NONE if options.quick else options.encoder
    with tempfile.TemporaryDirectory() as folder:
        base = options.output or Path(folder)
        base.mkdir(parents=True, exist_ok=True)
        kb = medic_kb() if options.quick else end_to_end_task(_KEY, "dev", JOINED).kb
        files = _own_files(base, _QUICK if options.quick else None)
        commands = _commands(base, files, kb, encoder, options)
        seconds, cpu = _time_commands([command for command in commands if not _is_done(command)])
        before = (base / "pipeline" / FILE).read_bytes()
        _time_commands(commands[-1:])
        is_same = (base / "pipeline" / FILE).read_bytes() == before
        figures = {"encoder": encoder, "hours": round(seconds / 3600, 2), "cpu_hours": round(cpu / 3600, 2)}
        return figures | {"resumed": int(is_same)} | ({} if options.quick else _judge(base / "pipeline", encoder))


def _own_files(base: Path, count: int | None) -> dict[str, Path]:
    """Write the documents of each split to a file, like a user's corpus."""
    dataset = open_dataset(_KEY, data_folder())
    files = {split: base / f"{split}.pubtator" for split in _SPLITS}
    for split, file in files.items():
        write_corpus(list(dataset.documents(split))[:count], file, "pubtator", force=True)
    return files


def _commands(
    base: Path, files: dict[str, Path], kb: KnowledgeBase, encoder: str, options: argparse.Namespace
) -> list[list[str]]:
    names = [word for split, file in files.items() for word in ("--split", f"{split}={file}")]
    where = ["--kb", str(kb.folder.parent)]
    prepare = ["dataset", "prepare", "--name", "mine", *names, *where, "-o", str(base / "mine")]
    types = [] if options.quick else ["--type", "Disease", "--type", "Chemical"]  # quick runs use MEDIC, which has no groups
    own = [] if encoder == _NONE else ["--encoder", str(model_folder(encoder))]
    own += ["--epochs", str(options.epochs)] if options.epochs else []
    train = ["train", "pipeline", "--dataset", str(base / "mine"), *where, *types, *own, "-o", str(base / "pipeline")]
    return [prepare, train]


def _is_done(command: list[str]) -> bool:
    """Return whether an earlier run prepared the dataset; `onym train pipeline` resumes by itself."""
    return command[0] == "dataset" and Path(command[-1]).exists()


def _time_commands(commands: list[list[str]]) -> tuple[float, float]:
    """Run Onym commands; return wall seconds and CPU seconds."""
    began, before = time.perf_counter(), _cpu()
    for command in commands:
        threads = {"OMP_NUM_THREADS": str(os.cpu_count() or 1)}
        subprocess.run([sys.executable, "-m", "onym", *command], check=True, stdout=sys.stderr, env=os.environ | threads)
    return time.perf_counter() - began, _cpu() - before


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _judge(folder: Path, encoder: str) -> dict[str, object]:
    dev, test = (_strict(folder, end_to_end_task(_KEY, split, JOINED)) for split in ("dev", "test"))
    by_hand = _by_hand(encoder)
    pipeline, task = load(folder), end_to_end_task(_KEY, "test", JOINED)
    precise = judge_found(task, predict_with(pipeline.with_precision(_PRECISION), task))
    # The number of answers is gold mentions * recall / precision; the gold mentions cancel out in the ratio.
    share = precise["strict_r"] / precise["strict_p"] * test["strict_p"] / test["strict_r"]
    return {
        "strict_f1": test["strict_f1"],
        "dev_strict_f1": dev["strict_f1"],
        "hand_made_f1": by_hand,
        "points_below": round(by_hand - test["strict_f1"], 1),
        "precision_at_95": precise["strict_p"],
        "coverage_at_95": round(100 * share, 1),
    }


def _strict(folder: Path, task: EndToEndTask) -> dict[str, float]:
    return judge_found(task, predict_with(load(folder), task))


def _by_hand(encoder: str) -> float:
    """Return the strict F1 on test of the best hand-tuned pipeline (by dev F1), either with or without an encoder."""
    rows = {row.row: row for row in STORE.rows() if row.dataset == _KEY}
    alike = {key: row for key, row in rows.items() if (row.search == "dictionary") == (encoder == _NONE)}
    on_dev = {key: row for key, row in alike.items() if row.split == "dev" and key.removesuffix("-on-dev") in alike}
    best = max(on_dev, key=lambda key: on_dev[key].figures["strict_f1"])
    return float(alike[best.removesuffix("-on-dev")].figures["strict_f1"])
