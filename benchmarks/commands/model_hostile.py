"""Hostile folders of models, opened and used as a user would: encoders, BART, T5, collective models, conversion, pipelines.

Encoders are opened with torch, and once more with ONNX Runtime.

folders              how many there are: sizes, numbers that are none, code, pickles, adapters, kernels, links, pipes, devices,
                     headers and indexes that lie, tokenizers that take any time; `--quick` takes every 20th
refused_or_harmless  how many were answered by an error with a code, or answered just as the honest folder does, with nothing
                     executed and nothing read outside; it fails if that is not all of them
refused              of these, those with an error
executed             how many ran code: a mark that it would leave, or a process that it would start
outside_reads        how many had a file opened outside of the folder: by Python, or, seen by the kernel, by any library
worst_s              the longest time that one took; one that took more than two seconds is timed five times, since others
                     may use the machine, and its shortest time counts
worst_mb             the most that one made the memory of an idle process grow, in megabytes, at the peak
peft, kernels        whether these packages were there, with which transformers would load more
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.hostile.process import Worker
from benchmarks.hostile_models import CASES
from benchmarks.hostile_models.case import Case
from benchmarks.hostile_models.honest import save_honest, save_kb
from benchmarks.hostile_models.watch import Watch
from onym.models.torch_loading import quiet

_PATIENCE_S, _SOON_S, _LIMIT_S, _LIMIT_MB = 30.0, 2.0, 5.0, 512.0
_STEP, _AGAIN, _WORKERS = 20, 4, 2


@dataclass(frozen=True)
class Outcome:
    """What became of one folder."""

    name: str
    code: str
    is_same: bool
    seconds: float
    mb: float
    executed: bool
    outside: bool
    events: list[str] = field(default_factory=list)

    @property
    def refused(self) -> bool:
        """Whether an error with a code was the answer."""
        return bool(self.code) and not self.code.startswith("!")

    @property
    def fine(self) -> bool:
        """Whether no harm was done."""
        return (self.refused or (not self.code and self.is_same)) and not self.executed and not self.outside


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verbose", action="store_true", help="tell about each folder on stderr")
    parser.add_argument("--workers", type=int, default=_WORKERS, help="how many processes open folders")
    parser.add_argument("--only", default="", help="only the folders whose name holds this")


def run(options: argparse.Namespace) -> dict[str, object]:
    cases = [case for case in CASES if options.only in f"{case.kind} {case.name}"][:: _STEP if options.quick else 1]
    found = outcomes(cases, workers=options.workers, verbose=options.verbose)
    figures: dict[str, Any] = {
        "folders": len(found),
        "refused_or_harmless": sum(each.fine for each in found),
        "refused": sum(each.refused for each in found),
        "executed": sum(each.executed for each in found),
        "outside_reads": sum(each.outside for each in found),
        "worst_s": round(max(each.seconds for each in found), 2),
        "worst_mb": round(max(each.mb for each in found), 1),
        **{name: find_spec(name) is not None for name in ("peft", "kernels")},
    }
    if figures["refused_or_harmless"] < len(found) or figures["worst_s"] > _LIMIT_S or figures["worst_mb"] > _LIMIT_MB:
        sys.exit(f"harm was done: {figures}, {[(each.name, each.code, each.events) for each in found if not each.fine]}")
    return figures


def outcomes(cases: list[Case], *, workers: int = _WORKERS, verbose: bool = False) -> list[Outcome]:
    """Have every folder opened by an idle process; there are several of them."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, ONYM_CACHE=f"{folder}/cache"):
        base = Path(folder).resolve()
        with quiet():
            honest = save_honest(base / "honest", save_kb(base / "kb"))
        with ThreadPoolExecutor(workers) as pool:
            parts = [
                pool.submit(_outcomes, cases[number::workers], base / str(number), honest, verbose=verbose)
                for number in range(workers)
            ]
            return [outcome for part in parts for outcome in part.result()]


def _outcomes(cases: list[Case], own: Path, honest: Path, *, verbose: bool) -> list[Outcome]:
    """Have folders opened one after the other, in a folder of one's own."""
    found, desk = [], _Desk(own, honest)
    try:
        for case in cases:
            found.append(desk.outcome(case))
            if verbose or not found[-1].fine:
                print(found[-1], file=sys.stderr, flush=True)
    finally:
        desk.close()
    return found


class _Desk:
    """Where folders are made, opened by a worker, and removed again."""

    def __init__(self, own: Path, honest: Path) -> None:
        shutil.copytree(honest.parent / "kb" / "kb", own / "kb")
        self._own, self._honest = own, honest
        self._worker: Worker | None = None
        self._wanted = {kind: self._ask(kind, honest / kind).get("answers") for kind in {case.kind for case in CASES}}

    def outcome(self, case: Case) -> Outcome:
        base = self._own / "case"
        base.mkdir()
        folder = case.make(base, self._honest)
        watch = Watch(base / "outside")
        try:
            answer = self._ask(case.kind, folder)
            for _ in range(_AGAIN if answer["seconds"] > _SOON_S else 0):
                again = self._ask(case.kind, folder)
                answer |= {"seconds": min(answer["seconds"], again["seconds"]), "mb": max(answer["mb"], again["mb"])}
            was_read = watch.was_read()
            executed = (base / "executed").exists()
        finally:
            watch.close()
            shutil.rmtree(base)
        return self._judged(case, answer, was_read=was_read, executed=executed)

    def _judged(self, case: Case, answer: dict[str, Any], *, was_read: bool, executed: bool) -> Outcome:
        events = answer.get("events", [])
        opens = [each for each in events if each.startswith(("open ", "socket"))]
        return Outcome(
            name=f"{case.kind} {case.name}",
            code=answer["code"],
            is_same=answer.get("answers") == self._wanted[case.kind],
            seconds=answer["seconds"],
            mb=answer["mb"],
            executed=executed or len(events) > len(opens),
            outside=was_read or bool(opens),
            events=events,
        )

    def _ask(self, kind: str, folder: Path) -> dict[str, Any]:
        if self._worker is None:
            self._worker = Worker(
                "benchmarks.hostile_models.worker",
                str(self._honest.parent),
                str(self._own),
                patience=_PATIENCE_S,
                stderr=subprocess.DEVNULL,
            )
        self._worker.wait_until_idle()
        answer = self._worker.ask([kind, str(folder)])
        if not answer.pop("idle"):
            self.close()
        return answer

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
