"""Send mutated requests to a link service with reconciliation and to a review server, without a listener.

readers          kinds of requests: to link, to reconcile, to review
cases            number of mutated requests
cases_per_reader number of mutated requests of each kind
refused          requests answered with status 4xx
internal_errors  requests answered with status 500, or without an answer: an exception, a hang of 5 s, a crash, growth by 256 MB

Internal errors are reported on stderr with a number that `--replay reader:number` runs again.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import os
import random
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote, unquote_to_bytes

import openpyxl

from onym.kb import KnowledgeBase
from onym.pipeline.folder import build_pipeline
from onym.review.desk import open_desk
from onym.serve.answers import JobRunner
from onym.serve.review import ReviewService, ReviewSettings
from onym.serve.server import Service
from onym.serve.settings import ServeSettings
from tests.review.desks import make_desk
from tests.robustness.attacks.attacks import build_small_kb
from tests.robustness.files.fuzz import OTHER, Suite, add_fuzz_options, fuzz
from tests.robustness.files.mutation import mutate

UPPER_BOUNDS = MappingProxyType({"internal_errors": 0})
_CASES, _QUICK = 5_000, 200
FOLDER = "ONYM_FUZZED"  # environment variable by which child processes find the folder
_JSON, _FORM = b"application/json", b"application/x-www-form-urlencoded"
_NUMBERS = (
    b"0",
    b"-1",
    b"9223372036854775808",
    b"9" * 5_000,
    b"1e400",
    b"%00",
    b"%FF",
    b"%ED%A0%80",
    b"%D9%A3",
    b"",
    b"a b",
    b"%",
)
_HEADERS = (b"content-type", b"content-length", b"accept", b"origin", b"host", b"authorization", b"x-onym-csrf", b"cookie")


@dataclass(frozen=True)
class Request:
    """A request: method, raw path, raw query, body and its media type."""

    method: str
    path: bytes
    query: bytes = b""
    body: bytes = b""
    media_type: bytes = _JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


def _post(path: str, value: Any, media_type: bytes = _JSON) -> Request:
    return Request("POST", path.encode(), body=json.dumps(value).encode(), media_type=media_type)


_MENTION = {"start": 5, "end": 10, "type": "Disease", "concept_ids": ["mesh:D005334"]}
_DOCUMENT = {
    "id": "1",
    "text": "High fever, no MI.",
    "mentions": [_MENTION],
    "passages": [{"start": 0, "end": 10, "type": "title"}],
}
_OPTIONS = {"top_k": 3, "format": "links", "explain": True}
_QUERY = {"query": "fever", "limit": 2, "type": "Disease", "properties": [{"pid": "name", "v": "fever"}], "type_strict": "any"}
_EXTEND = {"ids": ["mesh:D005334", ""], "properties": [{"id": "name", "settings": {"limit": 1}}]}
_DECISION = {
    "id": "decision-0",
    "verdict": "concept",
    "link": 2,
    "concept_id": "D006973",
    "scope": "everywhere",
    "seconds": 1.5,
}
_MISSED = {"id": "decision-0", "verdict": "missed", "document": 1, "start": 0, "end": 4, "concept_id": "D005334", "seconds": 0}


def _form(**values: Any) -> bytes:
    return "&".join(f"{name}={quote(json.dumps(value))}" for name, value in values.items()).encode()


def _make_workbook() -> bytes:
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["term"])
    book.active.append(["fever"])
    book.save(file)
    return file.getvalue()


REQUESTS: dict[str, tuple[Request, ...]] = {
    "link": (
        _post("/v1/link", {"text": "High fever, no MI."}),
        _post("/v1/link", {"document": _DOCUMENT, **_OPTIONS}),
        _post("/v1/map", {"terms": ["fever", None, "MI"], "candidates": 2}),
        Request("POST", b"/v1/link/batch", body=b'{"text": "fever"}\n{"text": "MI"}\n', media_type=b"application/x-ndjson"),
        _post("/v1/link", {"text": "fever", "precision": 0.9}),
        _post("/v1/workbook", {"content": base64.b64encode(_make_workbook()).decode()}),
        Request("GET", b"/v1/search", b"q=fever&limit=3"),
        Request("GET", b"/v1/concepts/mesh:D005334"),
    ),
    "reconcile": (
        Request("POST", b"/reconcile", body=_form(queries={"q0": _QUERY, "q1": {"query": "MI"}}), media_type=_FORM),
        Request("POST", b"/reconcile", body=_form(extend=_EXTEND), media_type=_FORM),
        Request("GET", b"/reconcile", _form(queries={"q0": _QUERY})),
        Request("GET", b"/reconcile", b"callback=x"),
        Request("GET", b"/reconcile/suggest/entity", b"prefix=fev&cursor=1"),
        Request("GET", b"/reconcile/suggest/type", b"prefix=dis&cursor=1"),
        Request("GET", b"/reconcile/suggest/property", b"prefix=na&cursor=1"),
        Request("GET", b"/reconcile/preview", b"id=mesh:D005334"),
        Request("GET", b"/reconcile/extend/propose", b"type=Disease&limit=3"),
    ),
    "review": (
        _post("/v1/review/decisions", _DECISION),
        _post("/v1/review/decisions", _MISSED),
        Request("GET", b"/v1/review/next", b"skipped=1,2&link=3"),
        Request("GET", b"/v1/review/links/2"),
        Request("GET", b"/v1/review/documents/1"),
        Request("GET", b"/v1/review/search", b"q=fever&limit=3"),
        Request("GET", b"/v1/review/desk"),
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    add_fuzz_options(parser, list(REQUESTS), cases=f"{_CASES:,}, or {_QUICK} with --quick")


def run(options: argparse.Namespace) -> dict[str, object]:
    options.cases = options.cases or (_QUICK if options.quick else _CASES)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        make_base(Path(folder))
        figures, counts = fuzz(options, __name__)
    internal_errors = figures.pop(OTHER, 0)
    return {**figures, "refused": counts["refused"], "internal_errors": internal_errors}


def make_base(folder: Path) -> None:
    """Write a knowledge base and a pipeline."""
    build_small_kb(folder)
    build_pipeline(folder / "kb", folder / "pipeline")


class InlineLinker:
    """A linker of a service in this process: it answers its jobs when they are sent."""

    size, pid, label = 1, 0, "inline linker"

    async def start(self) -> InlineLinker:
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        return self

    async def open(self, pipeline: Path, options: Mapping[str, Any]) -> None:
        self._runner = JobRunner.open(str(pipeline), options)
        self.release = self._runner.release

    async def send(self, jobs: Sequence[dict[str, Any]]) -> None:
        self._answers = deque(self._runner.of(json.loads(json.dumps(jobs))))  # as they pass through a pipe

    async def reply(self) -> tuple[int, bytes]:
        return self._answers.popleft()

    async def end(self) -> int:
        return 0

    async def close(self) -> None:
        pass


class Servers:
    """A link service and a review server, in an event loop of this process."""

    def __init__(self, folder: Path) -> None:
        self._runner, self._csrf = asyncio.Runner(), b""
        own = Path(tempfile.mkdtemp(dir=folder))
        kb = KnowledgeBase.open(folder / "kb")
        make_desk(own / "desk.sqlite", kb)
        self._desk = open_desk(own / "desk.sqlite", exclusive=True)
        self._runner.run(self._open(folder, kb))

    async def _open(self, folder: Path, kb: KnowledgeBase) -> None:
        service = Service(ServeSettings(pipelines={"default": folder / "pipeline"}), lambda _: InlineLinker())
        await service.open()
        review = ReviewService(self._desk.__enter__(), kb, ReviewSettings())
        self._apps = {"link": service.admission, "reconcile": service.admission, "review": review.admission}
        self._csrf = review.csrf.encode()

    def ask(self, reader: str, request: Request) -> tuple[int, bytes]:
        """Return the status and the body of the answer."""
        return self._runner.run(self._ask(self._apps[reader], request))

    async def _ask(self, app: Any, request: Request) -> tuple[int, bytes]:
        own = ((b"host", b"localhost"), (b"content-type", request.media_type), (b"x-onym-csrf", self._csrf))
        headers = [*request.headers, *(each for each in own if each[0] not in dict(request.headers))]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": request.method,
            "path": unquote(request.path.decode("latin-1")), "raw_path": request.path, "root_path": "", "headers": headers,
            "query_string": request.query, "client": ("127.0.0.1", 1), "server": ("localhost", 80), "state": {},
        }  # fmt: skip
        parts = deque([{"type": "http.request", "body": request.body, "more_body": False}])
        found: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not parts:
                await asyncio.Event().wait()  # the client stays connected
            return parts.popleft()

        async def send(message: dict[str, Any]) -> None:
            found.append(message)

        await app(scope, receive, send)
        return found[0]["status"], b"".join(message.get("body", b"") for message in found[1:])


@cache
def _servers(folder: Path) -> Servers:
    return Servers(folder)


def _make_request(seed: int, reader: str, number: int) -> Request:
    rng = random.Random(f"{seed}:{reader}:{number}")
    request = rng.choice(REQUESTS[reader])
    request = replace(request, body=request.body.replace(b"decision-0", b"decision-%d" % number))
    bodies = [each.body for each in REQUESTS[reader] if each.body]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        act = rng.random()
        if request.body and act < 0.75:
            request = replace(request, body=_mutate_body(rng, request, bodies))
        elif act < 0.5:
            request = replace(request, query=_mutate_ascii(rng, request.query or b"q=1"))
        elif act < 0.85:
            request = replace(request, path=b"/" + _mutate_ascii(rng, request.path)[1:])
        elif act < 0.9:
            request = replace(request, method=rng.choice(("GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE")))
        else:
            header = rng.choice(_HEADERS), rng.choice((*_NUMBERS, b"text/plain", b"\xff", b"a" * 9_000))
            request = replace(request, headers=(*request.headers, header))
    return request


def _mutate_body(rng: random.Random, request: Request, others: Sequence[bytes]) -> bytes:
    if request.media_type != _FORM:
        return mutate(rng, request.body, others)
    name, _, value = request.body.partition(b"=")
    plain = mutate(rng, unquote_to_bytes(value), [b'{"q0": {"query": "fever"}}'])
    return name + b"=" + quote(plain).encode()


def _mutate_ascii(rng: random.Random, data: bytes) -> bytes:
    """Replace a part between separators by a strange number, or mutate the bytes and quote those that no URL has."""
    parts = data.replace(b"=", b"=\0").replace(b"/", b"/\0").split(b"\0")
    if rng.random() < 0.5:
        parts[rng.randrange(len(parts))] = rng.choice(_NUMBERS)
        return b"".join(parts)
    return quote(mutate(rng, data, [data]), safe="/=&%?,:+").encode()


def _judge(seed: int, reader: str, number: int) -> Mapping[str, int]:
    status, body = _servers(Path(os.environ[FOLDER])).ask(reader, _make_request(seed, reader, number))
    assert status != 500, f"{status} {body[:400]!r}"
    assert b"internal-error" not in body, body[:400]
    return {"refused": 400 <= status < 500}


def _files(seed: int, reader: str, number: int) -> Mapping[str, bytes]:
    return {"request": repr(_make_request(seed, reader, number)).encode()}


SUITE = Suite(_judge, _files)
