"""Canary phrases in documents, through everything that fails or may fail: none is ever shown.

runs           damaged corpora of every format read and written, linkers and pipelines that raise with text in their message,
               and commands on damaged files, most of them in this process, some as processes of their own
canaries_seen  words of the phrases in error messages, problems, logs at DEBUG, warnings, what a command printed and is not the
               text itself, or in hidden files that it left; it fails if there is one

What shows a phrase is named on stderr with the number of its run, which `--replay` runs again.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from unittest.mock import patch

from benchmarks.privacy.canaries import Canaries
from benchmarks.privacy.commands import random_command, run_here, run_process
from benchmarks.privacy.corpora import WRITABLE, damaged_corpus
from benchmarks.privacy.parts import Breakable, breakables, broken_run
from benchmarks.privacy.setup import PLUG_INS, Setup
from benchmarks.privacy.watch import described, shown_by
from onym.corpora.base import documents_of
from onym.corpora.check import check_corpus
from onym.corpora.corpus import read_sources, write_corpus
from onym.kb import KnowledgeBase
from onym.types import Problem

FULL, QUICK = (10_000, 500), (150, 12)
"""Runs in all, and how many of them are processes of their own."""
_WORKERS = 2
Run = Callable[[random.Random, Canaries, Path], str]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=0, help="in all; 10,000 without --quick, 150 with it")
    parser.add_argument("--processes", type=int, default=0, help="of them as processes; 500 without --quick, 12 with it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=int, default=-1, metavar="NUMBER", help="run one of them and print what it shows")


def run(options: argparse.Namespace) -> dict[str, object]:
    runs, processes = QUICK if options.quick else FULL
    runs, processes = options.runs or runs, options.processes or processes
    with tempfile.TemporaryDirectory() as name, patch.object(sys, "path", [*sys.path, str(Path(name) / PLUG_INS)]):
        setup = Setup.make(folder := Path(name))
        parts = breakables(KnowledgeBase.open(folder / "kb"), folder, with_models=not options.quick)
        one = partial(_seen, options.seed, setup, parts, processes)
        if options.replay >= 0:
            return {"canaries_seen": len(one(options.replay, verbose=True))}
        with ThreadPoolExecutor(_WORKERS) as pool:
            apart = pool.map(one, range(processes))  # these work by themselves, and change nothing here
            seen = sum(map(_summary, map(one, range(processes, runs)))) + sum(map(_summary, apart))
    if seen:
        sys.exit(f"{seen} words of canary phrases were shown")
    return {"runs": runs, "canaries_seen": seen}


def _summary(lines: list[str]) -> int:
    """Tell what a run showed at once, and return how much."""
    for line in lines:
        print(line, file=sys.stderr, flush=True)
    return len(lines)


def _seen(seed: int, setup: Setup, parts: list[Breakable], processes: int, number: int, *, verbose: bool = False) -> list[str]:
    """Run one, and return a line about each word of its phrases that it shows."""
    rng = random.Random(f"{seed}:{number}")
    canaries = Canaries(rng)
    act: Run = partial(_process, setup) if number < processes else rng.choices(_kinds(setup, parts), (6, 3, 2))[0]
    with tempfile.TemporaryDirectory(dir=setup.folder) as folder:
        shown = act(rng, canaries, Path(folder))
    if verbose:
        print(shown, file=sys.stderr)
    seen = canaries.seen_in(shown) + setup.canaries.seen_in(shown)
    lines = [next(line for line in shown.splitlines() if word in line.lower()) for word in seen]
    return [f"run {number} (seed {seed}): {line[:300]}" for line in lines]


def _kinds(setup: Setup, parts: list[Breakable]) -> tuple[Run, ...]:
    return _read_and_write, lambda rng, canaries, _: broken_run(rng, canaries, parts), partial(_here, setup)


def _read_and_write(rng: random.Random, canaries: Canaries, folder: Path) -> str:
    """Read a damaged corpus, check it, and write it in another format."""
    corpus = damaged_corpus(rng, canaries)

    def read() -> str:
        items = list(read_sources([corpus.source()], rng.choice((corpus.format, ""))))
        problems = [*(item for item in items if isinstance(item, Problem)), *check_corpus(items)]
        written = write_corpus(items, folder / "out", rng.choice(WRITABLE))
        return described(problems + written.problems) + "".join(map(repr, documents_of(items)))

    return shown_by(read)


def _here(setup: Setup, rng: random.Random, canaries: Canaries, folder: Path) -> str:
    command = random_command(rng, canaries, setup, folder)
    return shown_by(lambda: run_here(command, folder))


def _process(setup: Setup, rng: random.Random, canaries: Canaries, folder: Path) -> str:
    return run_process(random_command(rng, canaries, setup, folder), folder, setup)
