"""A service that meets what goes wrong: is each request answered once, rightly or with a refusal, and does it go on?

One service with two linker processes over a made-up pipeline, on this machine alone. Linker processes are killed under load;
clients send slowly, half a request, too much, bytes that are no UTF-8, or requests with random bytes changed; they go away
before the answer. Each time other clients ask on, and each of their answers must be that of the pipeline, or 503 where a
linker process was killed. At last the service is ended under load, while clients watch /ready as a balancer does.

cases     what was tried; `by_kind` says how often what
answers   answers to requests that are right; `refused` of them are 503
wrong     answers that are not those of the pipeline, and statuses that should not be
lost      requests that are right and have no answer
hung      requests without an answer for 30 seconds
dropped   requests without an answer when the service was ended
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.batch.made import made_pipeline
from benchmarks.commands.pipeline_hostile_text import NAMES
from benchmarks.serve.client import NOTHING, Connection, Got, link_request
from benchmarks.serve.running import Running
from onym.pipeline.folder import load

_FULL, _QUICK = 100, 12
_MUTATED_SHARE = 20  # mutated requests for each other case
_CLIENTS, _AT_ONCE = 8, 8
_PATIENCE_S, _BODY_S = 60.0, 4  # on a busy machine, a client that sleeps for a moment sleeps for longer
_HEAD = b"POST /v1/link HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
_READY = b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n"
Case = Callable[["Faults"], Awaitable[None]]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=int, default=0, help="cases of each kind; by default 100, or 12 with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    cases = options.cases or (_QUICK if options.quick else _FULL)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        pipeline = made_pipeline(base)
        words = ("--workers", "2", "--body-timeout", str(_BODY_S), "--drain-delay", "1")
        faults = Faults(pipeline, Running(pipeline, base / "log.txt", *words))
        try:
            faults.service.wait_until_ready()
            asyncio.run(faults.run(cases))
            status = faults.service.stop(signal.SIGTERM)
            faults.judge()
        finally:
            faults.service.stop(signal.SIGKILL)
    figures: dict[str, object] = {"cases": sum(faults.kinds.values()), "by_kind": dict(sorted(faults.kinds.items()))}
    figures |= {name: faults.counts[name] for name in ("answers", "refused", "wrong", "lost", "hung", "dropped")}
    if any(faults.counts[name] for name in ("wrong", "lost", "hung", "dropped")) or status != 0:
        sys.exit(f"{figures}; exit status {status}; {faults.notes[:5]}; none may be wrong, lost, hung or dropped")
    return figures


class Faults:
    """What is done to a service, and what came of it."""

    def __init__(self, pipeline: Path, service: Running) -> None:
        self.service = service
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.notes: list[str] = []
        self._pipeline = load(pipeline)
        self._rng = random.Random(13)
        self._answers: list[tuple[str, Got, bool]] = []
        self._is_ending = False

    async def run(self, cases: int) -> None:
        """Try everything, while clients ask."""
        clients = [asyncio.create_task(self._client()) for _ in range(_CLIENTS)]
        kinds: tuple[tuple[str, Case, int], ...] = (
            ("kill", Faults._kill, cases),
            ("disconnect", Faults._disconnect, cases),
            ("half", Faults._half, cases),
            ("slow", Faults._slow, cases),
            ("oversized", Faults._oversized, cases),
            ("no UTF-8", Faults._no_utf8, cases),
            ("mutated", Faults._mutated, cases * _MUTATED_SHARE),
        )
        for kind, case, count in kinds:
            at_once = 1 if kind == "kill" else _AT_ONCE
            while self.kinds[kind] < count:
                several = min(at_once, count - self.kinds[kind])
                await asyncio.gather(*(asyncio.wait_for(case(self), _PATIENCE_S) for _ in range(several)))
                self.kinds[kind] += several
        await self._end(clients)

    async def _end(self, clients: list[asyncio.Task[None]]) -> None:
        """Send SIGTERM under load; clients stop when /ready says so."""
        self.kinds["SIGTERM"] += 1
        self._is_ending = True
        self.service.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(asyncio.gather(*clients), _PATIENCE_S)

    async def _client(self) -> None:
        """Ask for texts, one after the other, until /ready says no."""
        connection = Connection(self.service.url)
        while (await self._ask(connection, _READY)).status == 200:
            for _ in range(3):
                text = " ".join(self._rng.choices(NAMES, k=self._rng.randrange(1, 600)))
                answer = await self._ask(connection, link_request(text))
                self._answers.append((text, answer, self._is_ending))
        connection.close()

    async def _ask(self, connection: Connection, request: bytes) -> Got:
        try:
            return await connection.ask(request, _PATIENCE_S)
        except TimeoutError:
            self.counts["hung"] += 1
        except OSError:  # it does not listen any more, and the request was never sent
            return Got(503, {}, b"", 0.0)
        return NOTHING

    def judge(self) -> None:
        """Compare all answers with those of the pipeline itself; afterwards, since it would keep clients from sending."""
        for text, answer, was_ending in self._answers:
            self._judge(text, answer, was_ending=was_ending)

    def _judge(self, text: str, answer: Got, *, was_ending: bool) -> None:
        self.counts["answers"] += 1
        if answer.status == 0:
            self.counts["dropped" if was_ending else "lost"] += 1
        elif answer.status == 503 and (not answer.body or b"serve-worker-died" in answer.body):
            self.counts["refused"] += 1
        elif answer.status != 200 or json.loads(answer.body) != self._pipeline.link(text).to_dict():
            self._wrong(f"an answer of status {answer.status}")

    def _wrong(self, what: str) -> None:
        self.counts["wrong"] += 1
        self.notes.append(what)

    async def _kill(self) -> None:
        """Kill a linker process, and wait until another one is there."""
        pids = self.service.linker_pids()
        if pids:
            os.kill(self._rng.choice(pids), signal.SIGKILL)
        await asyncio.sleep(self._rng.random())

    async def _raw(self, data: bytes, pause: float = 0.0, *, wait: float = 5.0 * _BODY_S) -> bytes:
        """Send bytes, perhaps slowly, and return what comes back until the connection ends."""
        host, port = self.service.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            for start in range(0, len(data), 16 if pause else len(data) or 1):
                writer.write(data[start : start + (16 if pause else len(data))])
                await writer.drain()
                if pause:
                    await asyncio.sleep(pause)
            return await asyncio.wait_for(reader.read(), wait) if wait else b""
        except (TimeoutError, ConnectionError):
            return b""
        finally:
            writer.close()

    def _expect(self, found: bytes, *statuses: int) -> None:
        """Count an answer that has none of these statuses as wrong."""
        status = int(found.split(None, 2)[1]) if found.startswith(b"HTTP/1.1 ") else 0
        if status not in statuses:
            self._wrong(f"status {status} instead of {statuses}")

    async def _disconnect(self) -> None:
        await self._raw(link_request(" ".join(NAMES) * 50), wait=0.0)

    async def _half(self) -> None:
        request = link_request("fever")
        cut = self._rng.randrange(1, len(request))
        is_in_body = request.index(b"\r\n\r\n") + 4 <= cut
        part = request[:cut].replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        self._expect(await self._raw(part), 408 if is_in_body else 0)

    async def _slow(self) -> None:
        body = b'{"text": "' + b"a" * 100 + b'"}'
        head = _HEAD + b"Content-Length: %d\r\n\r\n" % len(body)
        self._expect(await self._raw(head + body, 0.02), 200)
        self._expect(await self._raw(head + body, _BODY_S / 5), 0, 408)  # too slow

    async def _oversized(self) -> None:
        self._expect(await self._raw(_HEAD + b"Content-Length: 5000000\r\n\r\n"), 413)
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        self._expect(await self._raw(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 40), 413, 0)

    async def _no_utf8(self) -> None:
        body = b'{"text": "fever \xff\xfe"}'
        self._expect(await self._raw(_HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body), 400)

    async def _mutated(self) -> None:
        """Change some bytes of a right request: whatever it is then, the service is not to blame."""
        data = bytearray(link_request("High fever and heart attack.", "Connection: close"))
        for _ in range(self._rng.randrange(1, 6)):
            at, kind = self._rng.randrange(len(data)), self._rng.randrange(3)
            if kind == 0:
                data[at] = self._rng.randrange(256)
            elif kind == 1:
                del data[at : at + self._rng.randrange(1, 9)]
            else:
                data[at:at] = self._rng.randbytes(self._rng.randrange(1, 9))
        found = await self._raw(bytes(data), wait=1.0)  # one that is incomplete is waited for longer than that
        if found.startswith(b"HTTP/1.1 5"):
            self._wrong(f"status {found[9:12].decode()} for a mutated request")
