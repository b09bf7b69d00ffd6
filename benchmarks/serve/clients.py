"""Clients that ask as those behind a balancer do: for texts, one after the other, for as long as /ready says yes."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.commands.pipeline_hostile_text import NAMES
from benchmarks.serve.client import NOTHING, Connection, Got, link_request
from onym.packs.locate import load

PATIENCE_S = 60.0  # on a busy machine, a client that sleeps for a moment sleeps for longer
_READY = b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n"
_LOOK_S = 0.05
UNSENT = Got(0, {}, b"", 0.0)
_TEXTS, _MAX_NAMES = 200, 100


class Exchange(NamedTuple):
    """A request, and what a pipeline answers to it."""

    request: bytes
    answer: object


def made_exchanges(pipeline: Path) -> list[Exchange]:
    """Return requests with texts of few or many names, and the answers of the pipeline itself."""
    rng, linking = random.Random(13), load(pipeline)
    texts = [" ".join(rng.choices(NAMES, k=rng.randrange(1, _MAX_NAMES))) for _ in range(_TEXTS)]
    return [Exchange(link_request(text), linking.link(text).to_dict()) for text in texts]


class Clients:
    """Asks a service, and counts what comes of it.

    counts: `answers`, of which `refused` are 503; `wrong` ones; requests that were `lost`, or `dropped` while the service was
    about to end; those that `hung`; and those that were `unsent`, since nobody listened any more.
    """

    def __init__(self, url: str, exchanges: Sequence[Exchange], seed: int = 13) -> None:
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self.is_ending = False
        self._url, self._exchanges = url, exchanges
        self._rng = random.Random(seed)

    async def ask_until_not_ready(self) -> None:
        """Be one client. While all linker processes were killed, it waits; it ends when the service is about to."""
        connection = Connection(self._url)
        while (is_ready := (await self._ask(connection, _READY)).status == 200) or not self.is_ending:
            if not is_ready:
                await asyncio.sleep(_LOOK_S)
                continue
            exchange = self._rng.choice(self._exchanges)
            self._judge(await self._ask(connection, exchange.request), exchange.answer)
        connection.close()

    def wrong(self, what: str) -> None:
        """Count something that is not as it should be."""
        self.counts["wrong"] += 1
        self.notes.append(what)

    def _judge(self, answer: Got, expected: object) -> None:
        self.counts["unsent" if answer is UNSENT else "answers"] += 1
        if answer is UNSENT:
            return
        if answer.status == 0:
            self.counts["dropped" if self.is_ending else "lost"] += 1
        elif answer.status == 503 and b"serve-worker-died" in answer.body:
            self.counts["refused"] += 1
        elif answer.status != 200 or json.loads(answer.body) != expected:
            self.wrong(f"an answer of status {answer.status}")

    async def _ask(self, connection: Connection, request: bytes) -> Got:
        try:
            return await connection.ask(request, PATIENCE_S)
        except TimeoutError:
            self.counts["hung"] += 1
        except OSError:
            return UNSENT
        return NOTHING


def start(clients: Clients, count: int) -> list[asyncio.Task[None]]:
    """Start some clients."""
    return [asyncio.create_task(clients.ask_until_not_ready()) for _ in range(count)]
