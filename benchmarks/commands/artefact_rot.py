"""Bits that flip in artefacts after they were verified, as on a failing disk: sizes and times are as this machine remembers.

flips        bits of files of a knowledge base, its trie, its vectors and its indexes of every kind, one at a time; readers open
             the artefact, and those that have it open already go on: look-ups, searches, steps of decoding
crashes      flips that ended a reader's process, hung it for a minute, or raised something without a code; it fails if there is
             one
undetected   flips that a reader with full verification did not refuse; it fails if there is one
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from benchmarks.own_cache import own_cache
from benchmarks.rot.artefacts import artefact_folders, build_artefacts

_HANGS = 60  # seconds
Flip = tuple[str, str, int, int]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--flips", type=int, default=0, help="10,000 without --quick")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--workers", type=int, default=2)


def run(options: argparse.Namespace) -> dict[str, object]:
    count = options.flips or (200 if options.quick else 10_000)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "made"
        base.mkdir()
        with own_cache(Path(folder) / "cache"):
            build_artefacts(base)
        flips = list(drawn_flips(base, random.Random(options.seed), count))
        parts = [flips[number :: options.workers] for number in range(options.workers)]
        with ThreadPoolExecutor(options.workers) as pool:
            found = list(pool.map(lambda part: _judge(base, Path(folder), part), parts))
    crashes, undetected = (sum(column) for column in zip(*found, strict=True))
    figures: dict[str, object] = {"flips": count, "crashes": crashes, "undetected": undetected}
    if crashes or undetected:
        sys.exit(f"a flipped bit did harm: {figures}")
    return figures


def drawn_flips(base: Path, rng: random.Random, count: int) -> Iterator[Flip]:
    """Draw bits: each file as often as another, so that short columns are hit as well as long ones."""
    files = [
        (what, str(path.relative_to(folder)), path.stat().st_size)
        for what, folder in artefact_folders(base).items()
        for path in sorted([folder / "CURRENT", *(folder / (folder / "CURRENT").read_text().strip()).iterdir()])
    ]
    filled = [each for each in files if each[2]]
    for _ in range(count):
        what, name, size = rng.choice(filled)
        yield what, name, rng.randrange(size), rng.randrange(8)


def _judge(base: Path, folder: Path, flips: list[Flip]) -> tuple[int, int]:
    """Return how many flips of a worker's share did harm, and how many full verification did not see."""
    crashes = undetected = 0
    worker = _Worker(base, folder)
    for flip in flips:
        answer = worker.answer(flip)
        if answer is None:
            worker.close()
            worker = _Worker(base, folder)
        found, full = answer or (["crash: the process died or hung"], "")
        if bad := next((each for each in (*found, full) if each.startswith("crash")), ""):
            crashes += 1
            print(f"{flip}: {bad}", file=sys.stderr)
        elif full == "answered":
            undetected += 1
            print(f"{flip}: not seen", file=sys.stderr)
    worker.close()
    return crashes, undetected


class _Worker:
    """A process with artefacts and a cache of its own: what a dead one leaves behind is thrown away with them."""

    def __init__(self, base: Path, folder: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(dir=folder))
        shutil.copytree(base, self._folder / "made")
        command = [sys.executable, "-m", "benchmarks.rot.worker", str(self._folder / "made")]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment(self._folder)
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        if self._lines.get(timeout=300).strip() != "ready":
            sys.exit("the reader of artefacts does not start")

    def answer(self, flip: Flip) -> tuple[list[str], str] | None:
        """Let it read with one bit flipped; None where it died or hung."""
        try:
            if self._process.stdin is not None:
                self._process.stdin.write(json.dumps(flip) + "\n")
                self._process.stdin.flush()
            found, full = json.loads(self._lines.get(timeout=_HANGS))
        except (OSError, ValueError, queue.Empty):
            return None
        return found, full

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _listen(self) -> None:
        with suppress(ValueError):
            for line in self._process.stdout or ():
                self._lines.put(line)
        self._lines.put("")


def _environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "ONYM_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
