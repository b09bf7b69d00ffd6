"""A service that is ended under load, again and again: is what was sent before it stopped listening answered?"""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.serve.clients import PATIENCE_S, Clients, Exchange, start
from benchmarks.serve.running import Running

_CLIENTS = 8
_WORDS = ("--drain-delay", "0.5")


def ended_under_load(pipeline: Path, exchanges: Sequence[Exchange], log: Path, times: int) -> tuple[Counter[str], list[str]]:
    """Start a service so many times, and end it by SIGTERM while clients ask; return the counts of all answers, and notes."""
    counts: Counter[str] = Counter()
    notes: list[str] = []
    rng = random.Random(13)
    for number in range(times):
        service = Running(pipeline, log, *_WORDS)
        clients = Clients(service.url, exchanges, seed=number)
        try:
            service.wait_until_ready()
            asyncio.run(_end(service, clients, rng.uniform(0.05, 0.5)))
            status = service.process.wait(PATIENCE_S)
        finally:
            service.stop(signal.SIGKILL)
        if status != 0:
            clients.wrong(f"exit status {status}")
        counts += clients.counts
        notes += clients.notes
    return counts, notes


async def _end(service: Running, clients: Clients, after_s: float) -> None:
    asking = start(clients, _CLIENTS)
    await asyncio.sleep(after_s)
    clients.is_ending = True
    service.process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(asyncio.gather(*asking), PATIENCE_S)
