"""Measure the speed and CPU time of a service: `python -m benchmarks.serve.speeds PIPELINE FOLDER OPTION...`.

Run as a program, it reads texts as JSON lines from standard input and prints the figures; this is how a service on a Ray
cluster is measured in an isolated network.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.robustness.own_network import own_network

from benchmarks.serve.client import Got, link_request, load, milliseconds
from benchmarks.serve.running import Running
from onym.packs.locate import load as load_pipeline

CLIENTS = (1, 8, 64)
WARM_UP = 8
_PATIENCE_S = 240.0  # seconds until a cluster is ready, on a busy machine


@dataclass
class Speeds:
    """Figures by number of clients (as a string key); CPU is in milliseconds per request."""

    first_answer_s: float = 0.0
    http_cpu_ms: dict[str, float] = field(default_factory=dict)
    rows: dict[str, dict[str, float]] = field(default_factory=dict)


def measure(pipeline: str, base: Path, texts: Sequence[str], *options: str) -> Speeds:
    """Start a service with options, and send all texts with 1, 8 and 64 clients."""
    began = time.monotonic()
    service = Running(pipeline, base / "log.txt", *options, patience_s=_PATIENCE_S)
    requests = [link_request(text) for text in texts]
    found = Speeds()
    try:
        service.wait_until_ready()
        asyncio.run(load(service.url, requests[:1], 1))
        found.first_answer_s = round(time.monotonic() - began, 1)
        asyncio.run(load(service.url, requests[:WARM_UP], 1))
        for clients in CLIENTS:
            before = service.cpu_by_pid()
            answers, seconds = asyncio.run(load(service.url, requests, clients))
            spent = {pid: 1000 * (cpu_s - before.get(pid, 0.0)) / len(texts) for pid, cpu_s in service.cpu_by_pid().items()}
            require_right(answers, texts, pipeline if clients == CLIENTS[0] else None)
            median_ms, p99_ms = milliseconds(answers)
            row = {"ok_per_s": round(len(texts) / seconds, 1), "p50_ms": median_ms, "p99_ms": p99_ms}
            found.rows[str(clients)] = {**row, "cpu_ms": round(sum(spent.values()), 2)}
            found.http_cpu_ms[str(clients)] = spent[service.process.pid]
    finally:
        service.stop()
    return found


def measure_on_ray(pipeline: str, base: Path, texts: Sequence[str]) -> Speeds:
    """Measure a service whose linker is a replica on an isolated Ray cluster."""
    words = own_network(sys.executable, "-m", "benchmarks.serve.speeds", pipeline, str(base), "--engine", "ray")
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run(words, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    return Speeds(**json.loads(done.stdout.splitlines()[-1]))


def require_right(answers: Sequence[Got], texts: Sequence[str], pipeline: str | None) -> None:
    """Exit if a response is not 200, belongs to another text, or differs from the answer of `pipeline` (if given)."""
    found = [json.loads(answer.body) if answer.status == 200 else {} for answer in answers]
    if [each.get("text") for each in found] != list(texts):
        sys.exit("a response is missing or belongs to another text")
    if pipeline is not None and found[:8] != [load_pipeline(pipeline).link(text).to_dict() for text in texts[:8]]:
        sys.exit("a response differs from the pipeline's answer")


if __name__ == "__main__":
    found_here = measure(sys.argv[1], Path(sys.argv[2]), [json.loads(line) for line in sys.stdin], *sys.argv[3:])
    print(json.dumps(asdict(found_here)))
