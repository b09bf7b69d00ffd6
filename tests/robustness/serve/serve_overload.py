"""A service that gets more requests than it can answer: does it answer as many as before, in time, and refuse the others?

Real abstracts of BC5CDR's training split go to `onym serve` with the starter, one linker process and a time limit of two
seconds, all on this machine. First `capacity` is found: 32 clients, each sends as soon as it has an answer. Then requests are
sent in an open loop at 2, 5 and 10 times that rate, for a minute each: at their time, whatever became of those before. The
linker process is pinned to a core, the generator, a process of its own, to another one, which it shares with the HTTP process.

capacity              answers in a second when there is always something to do
goodput_share         answers in a second under overload, of capacity, the least of all rates
p99_s                 99th percentile of the seconds to an answer, from the moment at which its request was to be sent, the most
memory_growth_pct     how much more memory HTTP and linker process hold at the end of all than before the first overload
unanswered            requests without an answer, or with another one than 2xx, 429, 503 or 504
late                  requests that were let in and not answered within the time limit (504), which a full run may not have; on
                      a machine with other work some are, since its speed changes
rows                  for each rate: `goodput_share`, `p99_s`, and how many requests had which status
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.commands.serve_speed import abstracts
from benchmarks.report import own_bytes
from benchmarks.serve.running import Running

from onym.packs.locate import STARTER

_TIMEOUT_S = 2
_RATES = (2, 5, 10)
_TEXTS, _SECONDS, _QUICK_SECONDS = 100, 60.0, 4.0
_CALM = frozenset({200, 429, 503, 504})
UPPER_BOUNDS = {"unanswered": 0}
FULL_BOUNDS = {"p99_s": _TIMEOUT_S, "memory_growth_pct": 5.0, "late": 0}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=0.0, help="of each rate; by default 60, or 4 with --quick")
    parser.add_argument("--pipeline", default=STARTER, help="another pipeline in its place")


def run(options: argparse.Namespace) -> dict[str, object]:
    seconds = options.seconds or (_QUICK_SECONDS if options.quick else _SECONDS)
    texts = abstracts(_TEXTS)
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        words = ("--timeout", str(_TIMEOUT_S), "--max-requests", "1000")
        service = Running(options.pipeline, Path(folder) / "log.txt", *words)
        try:
            service.wait_until_ready()
            (linker,) = service.linker_pids()
            pin(linker, cores[0])
            pin(service.process.pid, cores[-1])
            generator = Generator(service.url, seconds, cores[-1], texts)
            (capacity,) = generator.run(0)
            before = memory(service, linker)
            rows = {str(times): _row(generator, times, capacity) for times in _RATES}
            after = memory(service, linker)
        finally:
            service.stop()
    return {
        "seconds": seconds,
        "capacity": round(capacity, 1),
        "goodput_share": min(row["goodput_share"] for row in rows.values()),
        "p99_s": max(row["p99_s"] for row in rows.values()),
        "memory_growth_pct": round(100 * (after - before) / before, 1),
        "unanswered": sum(row["unanswered"] for row in rows.values()),
        "late": sum(row["late"] for row in rows.values()),
        "rows": rows,
    }


@dataclass(frozen=True)
class Generator:
    """Sends texts for some seconds, from a process of its own."""

    url: str
    seconds: float
    core: int
    texts: Sequence[str]

    def run(self, rate: float) -> list[Any]:
        """Return the lines that it prints."""
        words = [self.url, str(rate), str(self.seconds), str(self.core)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.robustness.serve.open_loop", *words],
            input="".join(json.dumps(text) + "\n" for text in self.texts),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]


def _row(generator: Generator, times: int, capacity: float) -> dict[str, float]:
    rate = times * capacity
    found = generator.run(rate)
    statuses = Counter(status for status, _ in found)
    passed = [seconds for status, seconds in found if status == 200]
    last_s = max(number / rate + seconds for number, (_, seconds) in enumerate(found))  # late answers took their time, too
    return {
        "requests": len(found),
        "goodput_share": round(len(passed) / (max(generator.seconds, last_s) * capacity), 3),
        "p99_s": round(quantiles(passed, n=100, method="inclusive")[98], 2) if len(passed) > 1 else 0.0,
        "refused": statuses[429] + statuses[503],
        "late": statuses[504],
        "unanswered": sum(count for status, count in statuses.items() if status not in _CALM),
    }


def pin(pid: int, core: int) -> None:
    """Let a process run on one core alone, with all of its threads."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), {core})


def memory(service: Running, linker: int) -> int:
    """Return the bytes that the processes of a service hold."""
    return own_bytes("VmRSS", linker) + own_bytes("VmRSS", service.process.pid)
