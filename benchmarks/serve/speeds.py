"""How fast a service answers, and its CPU: `python -m benchmarks.serve.speeds PIPELINE FOLDER OPTION...`.

As a program it reads texts as lines of JSON from standard input and prints what it found: that is how a service over a Ray
cluster is measured, in a network of its own.
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
_PATIENCE_S = 240.0  # until a cluster is ready, on a busy machine


@dataclass
class Speeds:
    """Figures by the number of clients, as text: CPU is in milliseconds for a request."""

    first_answer_s: float = 0.0
    http_cpu_ms: dict[str, float] = field(default_factory=dict)
    rows: dict[str, dict[str, float]] = field(default_factory=dict)


def measure(pipeline: str, base: Path, texts: Sequence[str], *options: str) -> Speeds:
    """Start a service with options, and let 1, 8 and 64 clients ask it for all texts."""
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
    """Return the same of a service whose linker is the replica of a Ray cluster, which nobody else can reach."""
    words = own_network(sys.executable, "-m", "benchmarks.serve.speeds", pipeline, str(base), "--engine", "ray")
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run(words, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    return Speeds(**json.loads(done.stdout.splitlines()[-1]))


def require_right(answers: Sequence[Got], texts: Sequence[str], pipeline: str | None) -> None:
    """End the benchmark where an answer is not 200 and of its text, or not what the pipeline links, if it is named."""
    found = [json.loads(answer.body) if answer.status == 200 else {} for answer in answers]
    if [each.get("text") for each in found] != list(texts):
        sys.exit("an answer is missing, or of another text")
    if pipeline is not None and found[:8] != [load_pipeline(pipeline).link(text).to_dict() for text in texts[:8]]:
        sys.exit("an answer is not that of the pipeline")


if __name__ == "__main__":
    found_here = measure(sys.argv[1], Path(sys.argv[2]), [json.loads(line) for line in sys.stdin], *sys.argv[3:])
    print(json.dumps(asdict(found_here)))
