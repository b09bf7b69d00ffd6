"""Kill builds of a knowledge base at random moments, and check that the last published one always opens and verifies.

torn   number of times that an artefact could be opened, or was the current version, although its bytes and manifest differ
lost   number of times that no artefact could be opened, or that the opened artefact was neither the last published one nor the
       one of the killed build
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from onym.errors import OnymError
from onym.kb import KnowledgeBase
from onym.store.artefact import check_artefact

_BUILD = """
import sys
from pathlib import Path
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
recipe = Recipe(sources=(SourceConfig(path=sys.argv[1]),))
print("ready", flush=True)
build_kb(recipe, Path(sys.argv[2]))
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=0, help="number of kills (default: 100, or 6 with --quick)")
    parser.add_argument("--seed", type=int, default=13)


def run(options: argparse.Namespace) -> dict[str, object]:
    kills = options.kills or (6 if options.quick else 100)
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        sources = [_source(base / f"{name}.tsv", name, rows=60_000) for name in ("one", "two")]
        digests = [_digest_of(source, base / "alone") for source in sources]
        dest = base / "kb"
        duration = max(_run_build(source, dest) for source in sources)
        published, torn, lost, done = digests[1], 0, 0, 0
        while done < kills:
            turn = done % 2
            was_killed = _kill_build(sources[turn], dest, rng.uniform(0, duration))
            done += was_killed
            torn += bool(check_artefact(dest))
            current = _current(dest)
            lost += current not in (published, digests[turn])
            published = current or published
        leftovers = _run_build(sources[0], dest) and len(list(dest.glob(".stage-*")))
        return {"kills": kills, "torn": torn, "lost": lost, "stages_left_after_next_build": leftovers}


def _source(path: Path, name: str, rows: int) -> Path:
    rng = random.Random(name)
    lines = (f"demo:{i // 3}\tname {name} {rng.randrange(10**9)} of {i}\n" for i in range(rows))
    path.write_text("id\tname\n" + "".join(lines))
    return path


def _run_build(source: Path, dest: Path) -> float:
    process = _start_build(source, dest)
    start = time.perf_counter()
    if process.wait():
        sys.exit("a build failed without being killed")
    return time.perf_counter() - start


def _kill_build(source: Path, dest: Path, delay: float) -> bool:
    """Kill a build after `delay` seconds; return whether it was still running."""
    process = _start_build(source, dest)
    try:
        process.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def _start_build(source: Path, dest: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", _BUILD, str(source), str(dest)], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()  # type: ignore[union-attr]
    return process


def _digest_of(source: Path, dest: Path) -> str:
    _run_build(source, dest)
    return KnowledgeBase.open(dest).digest


def _current(dest: Path) -> str:
    try:
        return KnowledgeBase.open(dest).digest
    except OnymError:
        return ""
