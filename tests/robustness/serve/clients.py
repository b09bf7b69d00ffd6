"""Clients that behave like those behind a load balancer: send texts one after the other while /ready succeeds."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.serve.client import NOTHING, Connection, Got, link_request, stream_request
from benchmarks.serve.running import Running

from onym.packs.locate import load
from onym.pipeline.folder import build_pipeline
from tests.robustness.text.pipeline_hostile_text import NAMES, make_kb

PATIENCE_S = 60.0  # timeout in seconds; long, because sleeps take longer on a busy machine
_READY = b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n"
_LOOK_S = 0.05
UNSENT = Got(0, {}, b"", 0.0)
_TEXTS, _MAX_NAMES = 200, 100


class Exchange(NamedTuple):
    """A request and the pipeline's expected answer."""

    request: bytes
    answer: object


def make_exchanges(pipeline: Path) -> list[Exchange]:
    """Return requests with texts of few or many names, and the pipeline's answers."""
    rng, linking = random.Random(13), load(pipeline)
    texts = [" ".join(rng.choices(NAMES, k=rng.randrange(1, _MAX_NAMES))) for _ in range(_TEXTS)]
    return [Exchange(link_request(text), linking.link(text).to_dict()) for text in texts]


class Clients:
    """Sends requests to a service and counts the outcomes.

    Counts: `answers`, of which `refused` are 503; `wrong` answers; requests that were `lost` or `dropped` while the service was
    shutting down; requests that `hung`; and requests that were `unsent`, because nothing was listening any more.
    """

    def __init__(self, url: str, exchanges: Sequence[Exchange], seed: int = 13) -> None:
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self.is_ending = False
        self._url, self._exchanges = url, exchanges
        self._rng = random.Random(seed)

    async def ask_until_not_ready(self) -> None:
        """Run one client: wait while all linker processes are dead, and return when the service shuts down."""
        connection = Connection(self._url)
        while (is_ready := (await self._ask(connection, _READY)).status == 200) or not self.is_ending:
            if not is_ready:
                await asyncio.sleep(_LOOK_S)
                continue
            exchange = self._rng.choice(self._exchanges)
            self._judge(await self._ask(connection, exchange.request), exchange.answer)
        connection.close()

    def wrong(self, what: str) -> None:
        """Count an unexpected outcome."""
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


# Stops a service under load again and again: requests sent before it stopped listening must be answered.

_CLIENTS = 8
_WORDS = ("--drain-delay", "0.5")


def end_under_load(pipeline: Path, exchanges: Sequence[Exchange], log: Path, times: int) -> tuple[Counter[str], list[str]]:
    """Start a service `times` times, and stop it by SIGTERM while clients send requests; return the counts, and notes."""
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


# Replaces the pipeline of a service under load again and again: each request must be answered by a single release.

RELEASES = ("old", "new")
_SWAP_CLIENTS = 4
_LINES = 6  # lines of a stream request
_PIPELINES = b"GET /v1/pipelines HTTP/1.1\r\nHost: localhost\r\n\r\n"


def swap_under_load(base: Path, times: int) -> Counter[str]:
    """Replace a service's pipeline repeatedly; return `swaps`, `swap_answers`, `mixed_answers` and `stale_answers`."""
    for name in RELEASES:
        (base / name).mkdir()
        build_pipeline(make_kb(base / name, name), base / name / "pipeline")
    link = base / "current"
    link.symlink_to(base / RELEASES[0] / "pipeline")
    service = Running(link, base / "log.txt")
    try:
        service.wait_until_ready()
        swaps = Swaps(service, link)
        asyncio.run(swaps.run(times))
    finally:
        service.stop(signal.SIGKILL)
    return swaps.counts


@dataclass
class Swaps:
    """Replaces the pipeline of a service, and counts the outcomes."""

    service: Running
    link: Path
    counts: Counter[str] = field(default_factory=Counter)
    _rng: random.Random = field(default_factory=lambda: random.Random(13))
    _release_of: dict[str, str] = field(default_factory=dict)
    _settled: tuple[int, str] = (0, "")  # number of swaps begun, and the release after the last one ("" during a swap)
    _is_over: bool = False

    async def run(self, times: int) -> None:
        """Replace the pipeline while clients send requests."""
        connection = Connection(self.service.url)
        self._release_of[await self._current(connection)] = RELEASES[0]
        self._settled = 0, RELEASES[0]
        clients = [asyncio.create_task(self._client()) for _ in range(_SWAP_CLIENTS)]
        for number in range(1, times + 1):
            await self._swap(connection, number)
            await asyncio.sleep(self._rng.uniform(0, 0.05))
        self._is_over = True
        await asyncio.gather(*clients)

    async def _swap(self, connection: Connection, number: int) -> None:
        """Switch the symlink, send the signal, and wait until the service reports the other release."""
        before, name = await self._current(connection), RELEASES[number % 2]
        self._settled = number, ""
        turned = self.link.with_suffix(".turned")
        turned.symlink_to(self.link.parent / name / "pipeline")
        turned.replace(self.link)
        os.kill(self.service.process.pid, signal.SIGHUP)
        async with asyncio.timeout(PATIENCE_S):
            while (now := await self._current(connection)) == before:
                await asyncio.sleep(0.01)
        if self._release_of.setdefault(now, name) != name:
            self.counts["mixed_answers"] += 1
        self._settled = number, name
        self.counts["swaps"] += 1

    async def _current(self, connection: Connection) -> str:
        answer = await connection.ask(_PIPELINES, PATIENCE_S)
        (only,) = json.loads(answer.body).values()
        return str(only["release"])

    async def _client(self) -> None:
        connection = Connection(self.service.url)
        while not self._is_over:
            texts = [" ".join(self._rng.choices(NAMES, k=self._rng.randrange(1, 60))) for _ in range(_LINES)]
            is_stream = self._rng.random() < 0.5
            expected = self._settled
            answer = await connection.ask(stream_request(texts) if is_stream else link_request(texts[0]), PATIENCE_S)
            self._judge(answer, expected[1] if expected == self._settled else "", _LINES if is_stream else 1)
        connection.close()

    def _judge(self, answer: Got, expected: str, lines: int) -> None:
        """Check which release each link comes from, and that the header names the same one."""
        self.counts["swap_answers"] += 1
        found = [json.loads(line) for line in answer.body.splitlines()] if answer.status == 200 else []
        names = {link["concept_id"].partition(":")[0].lower() for each in found for link in each["links"]}
        stated = self._release_of.get(answer.headers.get("onym-release", ""))
        if len(found) != lines or len(names) != 1 or (stated is not None and {stated} != names):
            self.counts["mixed_answers"] += 1
        elif expected and names != {expected}:
            self.counts["stale_answers"] += 1
