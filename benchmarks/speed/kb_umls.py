"""Measure a knowledge base of UMLS's size, and check that a second build gives the same bytes.

Measured are the time and peak memory of the build, the times of opening and of a lookup, and the memory of a second process.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.big_kb import write_release
from benchmarks.report import data_folder

_OPEN = """
import json, sys, time
import numpy as np
from onym.kb import KnowledgeBase

def private_mb():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty"))) / 1000

before = private_mb()
start = time.perf_counter()
kb = KnowledgeBase.open(sys.argv[1])
opened = time.perf_counter() - start
count = int(sys.argv[2])
places = np.random.default_rng(7).integers(0, len(kb.names), count)
names = [kb.names[int(place)] for place in places]
queries = [name if i % 4 else name + " x" for i, name in enumerate(names)]
held = private_mb()
start = time.perf_counter()
found = sum(kb.find(query) >= 0 for query in queries)
spent = time.perf_counter() - start
if found < count * 3 // 4:
    sys.exit("a name of the knowledge base was not found")
queries = names = None
print(json.dumps({"open_s": opened, "lookup_us": 1e6 * spent / count, "private_mb": private_mb() - before}), flush=True)
sys.stdin.read()
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=0, help="rows of MRCONSO; 16,000,000 without --quick")
    parser.add_argument("--folder", type=Path, help="output folder; a temporary folder by default")


def run(options: argparse.Namespace) -> dict[str, object]:
    rows = options.rows or (160_000 if options.quick else 16_000_000)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        base = Path(folder)
        write_release(base / "META", data_folder(), rows)
        build_s, peak_gb = build_release(base / "META", base / "kb")
        build_release(base / "META", base / "again")
        lookups = min(1_000_000, rows)
        with open_in_process(base / "kb", lookups) as first:
            seen_first = json.loads(first.stdout.readline())  # type: ignore[union-attr]
            with open_in_process(base / "kb", lookups) as second:
                seen_second = json.loads(second.stdout.readline())  # type: ignore[union-attr]
        return {
            "rows": rows,
            "build_s": round(build_s, 1),
            "peak_gb": round(peak_gb, 2),
            "open_s": round(max(seen_first["open_s"], seen_second["open_s"]), 3),
            "second_process_mb": round(seen_second["private_mb"], 1),
            "lookup_us": round(seen_first["lookup_us"], 1),
            "deterministic": _same(base / "kb", base / "again"),
        }


def build_release(release: Path, dest: Path, *options: str) -> tuple[float, float]:
    """Run `onym kb build`; return its seconds and its peak memory in GB."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "onym", "kb", "build", str(release), "-o", str(dest), "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"the build failed with status {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024 / 1e9


def open_in_process(kb: Path, lookups: int) -> subprocess.Popen[str]:
    """Open a knowledge base in another process, which prints the times of opening and of a look-up, and its memory."""
    command = [sys.executable, "-c", _OPEN, str(kb), str(lookups)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _same(one: Path, other: Path) -> bool:
    names = [path.relative_to(one) for path in sorted(one.rglob("*")) if path.is_file()]
    others = [path.relative_to(other) for path in sorted(other.rglob("*")) if path.is_file()]
    return names == others and not any(filecmp.cmpfiles(one, other, [str(name) for name in names], shallow=False)[1:])
