"""Inject faults into a service, and check that each request gets one right answer or a 503 and that the service survives.

Runs a local service with two linker processes and a small made-up pipeline. Linker processes are killed under load; clients
send slowly, half a request, a gigabyte, bytes that are not UTF-8, NaN and other invalid numbers, or requests with random bytes
changed, or disconnect before the response. Meanwhile, other clients keep sending requests: each answer must be that of the
pipeline, or 503 if a linker process was killed. Then services are stopped under load while clients poll /ready as a load
balancer does, and finally the pipeline of a service is replaced again and again.

cases           number of faults injected; `by_kind` counts them by kind
answers         number of answers to valid requests; `refused` is the number of answers with status 503
unsent          requests that could not be sent because nothing was listening any more
wrong           answers that differ from the pipeline's, and unexpected statuses
lost            valid requests without an answer
hung            requests without an answer for a minute
dropped         requests without an answer when a service was stopped
swap_answers    answers to requests that were sent while the pipeline was being replaced
mixed_answers   swap answers that are missing, mix two releases, or name another release in their header
stale_answers   swap answers from the old release, to requests that were sent after the service had reported the new release
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from benchmarks.serve.client import link_request
from benchmarks.serve.running import Running

from tests.robustness.batch.runs import make_pipeline
from tests.robustness.serve.clients import (
    PATIENCE_S,
    Clients,
    Exchange,
    end_under_load,
    make_exchanges,
    start,
    swap_under_load,
)
from tests.robustness.serve.reconcile_cases import NOT_A_LIMIT
from tests.robustness.text.pipeline_hostile_text import NAMES

_FULL, _QUICK = 100, 3
_MUTATED_SHARE, _SWAPPED_SHARE = 100, 10  # numbers of mutated requests and of pipeline swaps for each case of the other kinds
_CLIENTS, _AT_ONCE = 8, 8
_BODY_S = 4
UPPER_BOUNDS = dict.fromkeys(("wrong", "lost", "hung", "dropped", "mixed_answers", "stale_answers"), 0)
_HEAD = b"POST /v1/link HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"
Case = Callable[["Faults"], Awaitable[None]]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cases",
        type=int,
        default=0,
        help="number of cases of each kind; 100 times as many mutated requests, 10 times as many pipeline swaps",
    )


def run(options: argparse.Namespace) -> dict[str, object]:
    cases = options.cases or (_QUICK if options.quick else _FULL)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        pipeline = make_pipeline(base)
        words = ("--workers", "2", "--body-timeout", str(_BODY_S))
        exchanges = make_exchanges(pipeline)
        faults = Faults(Running(pipeline, base / "log.txt", *words), exchanges)
        try:
            faults.service.wait_until_ready()
            asyncio.run(faults.run(cases))
        finally:
            faults.service.stop(signal.SIGKILL)
        kinds = faults.kinds + Counter({"SIGTERM": cases, "swap": cases * _SWAPPED_SHARE})
        counts, notes = end_under_load(pipeline, exchanges, base / "log.txt", cases)
        counts += faults.clients.counts + swap_under_load(base, kinds["swap"])
    figures: dict[str, object] = {"cases": kinds.total(), "by_kind": dict(sorted(kinds.items()))}
    figures |= {name: counts[name] for name in ("answers", "refused", "unsent", "swap_answers", *UPPER_BOUNDS)}
    return figures | {"notes": [*faults.clients.notes, *notes][:5]}


class Faults:
    """Injects faults into a service, and counts the outcomes."""

    def __init__(self, service: Running, exchanges: Sequence[Exchange]) -> None:
        self.service = service
        self.clients = Clients(service.url, exchanges)
        self.kinds: Counter[str] = Counter()
        self._rng = random.Random(13)

    async def run(self, cases: int) -> None:
        """Inject every kind of fault while clients send requests."""
        asking = start(self.clients, _CLIENTS)
        kinds: tuple[tuple[str, Case, int], ...] = (
            ("kill", Faults._kill, cases),
            ("disconnect", Faults._disconnect, cases),
            ("half", Faults._half, cases),
            ("slow", Faults._slow, cases),
            ("oversized", Faults._send_oversized, cases),
            ("no UTF-8", Faults._no_utf8, cases),
            ("number", Faults._numbers, cases),
            ("mutated", Faults._send_mutated, cases * _MUTATED_SHARE),
        )
        for kind, case, count in kinds:
            at_once = 1 if kind == "kill" else _AT_ONCE
            while self.kinds[kind] < count:
                several = min(at_once, count - self.kinds[kind])
                await asyncio.gather(*(asyncio.wait_for(case(self), PATIENCE_S) for _ in range(several)))
                self.kinds[kind] += several
        self.clients.is_ending = True
        self.service.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(asyncio.gather(*asking), PATIENCE_S)

    async def _kill(self) -> None:
        """Kill a linker process, and wait until it is replaced."""
        pids = self.service.linker_pids()
        if pids:
            os.kill(self._rng.choice(pids), signal.SIGKILL)
        await asyncio.sleep(self._rng.random())

    async def _raw(self, data: bytes, pause: float = 0.0, *, wait: float = 5.0 * _BODY_S) -> bytes:
        """Send bytes, optionally slowly, and return all bytes received until the connection is closed."""
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
        """Count a response as wrong if its status is not one of these."""
        status = int(found.split(None, 2)[1]) if found.startswith(b"HTTP/1.1 ") else 0
        if status not in statuses:
            self.clients.wrong(f"status {status} instead of {statuses}")

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
        self._expect(await self._raw(head + body, _BODY_S / 5), 0, 408)  # slower than the service's limit for a body

    async def _send_oversized(self) -> None:
        self._expect(await self._raw(_HEAD + b"Content-Length: 1000000000\r\n\r\n"), 413)
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        self._expect(await self._raw(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 40), 413, 0)

    async def _no_utf8(self) -> None:
        body = b'{"text": "fever \xff\xfe"}'
        self._expect(await self._raw(_HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body), 400)

    async def _numbers(self) -> None:
        """Send NaN, Infinity, 1e400 and similar numbers in every kind of JSON body."""
        for number in NOT_A_LIMIT:
            for path, media_type, body in _with_number(number):
                self._expect(await self._post(path, media_type, body), 400)

    async def _post(self, path: str, media_type: str, body: str) -> bytes:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\nConnection: close\r\n"
        return await self._raw(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())

    async def _send_mutated(self) -> None:
        """Change some bytes of a valid request: the response must never be a 5xx error."""
        data = bytearray(link_request("High fever and heart attack.", "Connection: close"))
        for _ in range(self._rng.randrange(1, 6)):
            at, kind = self._rng.randrange(len(data)), self._rng.randrange(3)
            if kind == 0:
                data[at] = self._rng.randrange(256)
            elif kind == 1:
                del data[at : at + self._rng.randrange(1, 9)]
            else:
                data[at:at] = self._rng.randbytes(self._rng.randrange(1, 9))
        # Stop waiting after a second: the service waits longer for an incomplete request.
        found = await self._raw(bytes(data), wait=1.0)
        if found.startswith(b"HTTP/1.1 5"):
            self.clients.wrong(f"status {found[9:12].decode()} for a mutated request")


def _with_number(number: str) -> Iterator[tuple[str, str, str]]:
    """Yield path, media type and body of requests with an invalid number."""
    yield "/v1/link", _JSON, f'{{"text": "fever", "top_k": {number}}}'
    yield "/v1/link", _JSON, f'{{"text": "fever", "precision": {number}}}'
    yield "/v1/link", _JSON, f'{{"document": {{"id": "1", "text": "fever", "mentions": [{{"start": {number}, "end": 5}}]}}}}'
    yield "/v1/map", _JSON, f'{{"terms": ["fever"], "precision": {number}}}'
    queries = f'{{"q0": {{"query": "fever", "limit": {number}}}}}'
    yield "/reconcile", _FORM, f"queries={quote(queries)}"
    extend = f'{{"ids": {number}, "properties": {{}}}}'
    yield "/reconcile", _FORM, f"extend={quote(extend)}"
