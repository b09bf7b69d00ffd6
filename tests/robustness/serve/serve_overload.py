"""Overload a service, and check that it keeps its throughput and latency and rejects the excess requests.

Sends abstracts of BC5CDR's training split to a local `onym serve` with the starter, one linker process and a time limit of two
seconds. First `capacity` is measured: 32 clients send the next request as soon as they have a response. Then requests are sent
in an open loop at 2, 5 and 10 times that rate, for a minute each, without waiting for responses. The linker process is pinned
to one core; the load generator, a separate process, shares another one with the HTTP process.

capacity              responses per second at full load
goodput_share         responses per second under overload divided by capacity; the minimum over all rates
p99_s                 99th percentile of the latency in seconds since the scheduled time; the maximum over all rates
memory_growth_pct     memory growth of the HTTP and linker processes from before the first overload to the end, in per cent
unanswered            requests without a response, or with a status other than 2xx, 429, 503 or 504
late                  requests that were accepted but not answered within the time limit (504); must be 0 in a full run on an
                      idle machine
rows                  for each rate: `goodput_share`, `p99_s`, and the number of requests by status
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
    parser.add_argument("--seconds", type=float, default=0.0, help="seconds per rate (default: 60, or 4 with --quick)")
    parser.add_argument("--pipeline", default=STARTER, help="pipeline to use instead of the starter")


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
    """Sends texts for some seconds, in a separate process."""

    url: str
    seconds: float
    core: int
    texts: Sequence[str]

    def run(self, rate: float) -> list[Any]:
        """Return the lines printed by the generator."""
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
    # when the last response arrived, which may be after the generator stopped sending
    last_s = max(number / rate + seconds for number, (_, seconds) in enumerate(found))
    return {
        "requests": len(found),
        "goodput_share": round(len(passed) / (max(generator.seconds, last_s) * capacity), 3),
        "p99_s": round(quantiles(passed, n=100, method="inclusive")[98], 2) if len(passed) > 1 else 0.0,
        "refused": statuses[429] + statuses[503],
        "late": statuses[504],
        "unanswered": sum(count for status, count in statuses.items() if status not in _CALM),
    }


def pin(pid: int, core: int) -> None:
    """Pin a process with all its threads to one core."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), {core})


def memory(service: Running, linker: int) -> int:
    """Return the memory of a service's processes in bytes."""
    return own_bytes("VmRSS", linker) + own_bytes("VmRSS", service.process.pid)
