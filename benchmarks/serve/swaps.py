"""A service whose pipeline is exchanged under load, again and again: is each request answered by one release alone?

There are two releases over knowledge bases with the same names and other ids, so that each link tells which one it is of. A
link in the file system points at one of them; it is turned to the other one, and the service hears SIGHUP. Meanwhile clients
send texts, and streams of texts.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.commands.pipeline_hostile_text import NAMES, made_kb
from benchmarks.serve.client import Connection, Got, link_request, stream_request
from benchmarks.serve.clients import PATIENCE_S
from benchmarks.serve.running import Running
from onym.pipeline.folder import build_pipeline

RELEASES = ("old", "new")
_CLIENTS = 4
_LINES = 6  # of a stream
_PIPELINES = b"GET /v1/pipelines HTTP/1.1\r\nHost: localhost\r\n\r\n"


def swapped_under_load(base: Path, times: int) -> Counter[str]:
    """Exchange the pipeline of a service so many times; return `swaps`, `swap_answers`, `mixed_answers` and `stale_answers`."""
    for name in RELEASES:
        (base / name).mkdir()
        build_pipeline(made_kb(base / name, name), base / name / "pipeline")
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
    """What is done to a service, and what came of it."""

    service: Running
    link: Path
    counts: Counter[str] = field(default_factory=Counter)
    _rng: random.Random = field(default_factory=lambda: random.Random(13))
    _release_of: dict[str, str] = field(default_factory=dict)
    _settled: tuple[int, str] = (0, "")  # how many exchanges were begun, and the release after the last; none during one
    _is_over: bool = False

    async def run(self, times: int) -> None:
        """Exchange the pipeline while clients ask."""
        connection = Connection(self.service.url)
        self._release_of[await self._current(connection)] = RELEASES[0]
        self._settled = 0, RELEASES[0]
        clients = [asyncio.create_task(self._client()) for _ in range(_CLIENTS)]
        for number in range(1, times + 1):
            await self._swap(connection, number)
            await asyncio.sleep(self._rng.uniform(0, 0.05))
        self._is_over = True
        await asyncio.gather(*clients)

    async def _swap(self, connection: Connection, number: int) -> None:
        """Turn the link, send the signal, and wait until the service says that it has the other release."""
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
        """Look which release each link is of, and whether the header names the same one."""
        self.counts["swap_answers"] += 1
        found = [json.loads(line) for line in answer.body.splitlines()] if answer.status == 200 else []
        names = {link["concept_id"].partition(":")[0].lower() for each in found for link in each["links"]}
        stated = self._release_of.get(answer.headers.get("onym-release", ""))
        if len(found) != lines or len(names) != 1 or (stated is not None and {stated} != names):
            self.counts["mixed_answers"] += 1
        elif expected and names != {expected}:
            self.counts["stale_answers"] += 1
