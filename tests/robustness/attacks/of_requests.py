"""Attacks by requests: numbers that nothing can hold, headers and bodies that do not end, and lines that are no messages."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from onym.kb import KnowledgeBase
from onym.pipeline import build_pipeline
from onym.review.desk import open_desk
from onym.serve.bodies import read_body
from tests.integrations.test_mcp import ask_raw
from tests.review.desks import make_desk
from tests.robustness.attacks.rows import Place, attack
from tests.serve.test_admission import Guarded
from tests.serve.test_bodies import coming, part
from tests.serve.test_review import Client, get, post
from tests.serve.test_server import app, serving

_NUMBERS = (2**63, 2**64, -(2**63) - 1, 10**400)


def _statuses(place: Place, requests: list[tuple[str, str, dict[str, str], object]]) -> list[int]:
    make_desk(place.folder / "desk.sqlite", place.kb)
    with open_desk(place.folder / "desk.sqlite", exclusive=True) as desk:
        client = Client(desk, KnowledgeBase.open(place.kb_path))
        return [response.status_code for response in client.send(*requests)]


@attack("a decision has numbers beyond 2^63")
def decisions_with_large_numbers(place: Place) -> None:
    fields = ("link", "document", "start", "end")
    requests = [post("missed", **cast("dict[str, Any]", {name: number})) for name in fields for number in _NUMBERS]
    requests += [post("unsure", link=number) for number in _NUMBERS]
    assert {400 <= status < 500 for status in _statuses(place, requests)} == {True}


@attack("paths and queries of a review server have numbers beyond 2^63, or of 5,000 digits")
def paths_with_large_numbers(place: Place) -> None:
    numbers = [*map(str, _NUMBERS), "9" * 5_000]
    paths = [f"/v1/review/{kind}/{number}" for kind in ("links", "documents") for number in numbers]
    statuses = _statuses(place, [get(path) for path in paths])
    assert {400 <= status < 500 for status in statuses} == {True}, statuses


@attack("skipped numbers of a review server have 5,000 digits")
def skipped_numbers_of_5000_digits(place: Place) -> None:
    (status,) = _statuses(place, [get(f"/v1/review/next?skipped=1,{'9' * 5_000},{2**64},x")])
    assert status == 200


@attack("request headers do not end")
def headers_that_do_not_end(_: Place) -> None:
    async def act() -> bytes:
        async with serving(app, 60, 100, 60) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 1_000_000)
            try:
                return await asyncio.wait_for(reader.readline(), 10)
            finally:
                writer.transport.abort()

    assert asyncio.run(act()).split()[1] == b"431"


@attack("140 bodies are half sent, again and again")
def bodies_half_sent(_: Place) -> None:
    async def read(scope: Any, receive: Any, send: Any) -> None:
        await read_body(receive, 100, 10.0)
        await guarded.yes(scope, receive, send)

    async def act() -> None:
        guarded.receive = coming(part(b"{", is_more=True), *[part(b" ", is_more=True)] * 4)  # type: ignore[assignment,method-assign]
        slow = [asyncio.create_task(guarded.ask()) for _ in range(140)]
        await asyncio.sleep(0.1)
        guarded.receive = coming(part(b"{}"))  # type: ignore[assignment,method-assign]
        assert (await guarded.ask())[0] == 200
        for task in slow:
            task.cancel()

    guarded = Guarded(read)
    asyncio.run(act())


@attack("a line to `onym mcp` has half a surrogate pair")
def half_a_surrogate_pair_to_mcp(place: Place) -> None:
    build_pipeline(place.kb_path, place.folder / "pipeline")
    calls = [("tools/call", {"name": "link", "arguments": {"text": text}}) for text in ("fever \ud800", "fever")]
    answers, _ = ask_raw(place.folder / "pipeline", *calls)
    assert [(answer["id"], "error" in answer) for answer in answers] == [(1, True), (2, False)]


@attack("requests to `onym mcp` have an id that is no integer and no string, and would never be answered")
def ids_of_other_types_to_mcp(place: Place) -> None:
    build_pipeline(place.kb_path, place.folder / "pipeline")
    request = '{"jsonrpc": "2.0", "id": %s, "method": "tools/call", "params": {"name": "link", "arguments": {"text": "fever"}}}'
    answers, _ = ask_raw(place.folder / "pipeline", *(request % number for number in ("1.5", "1e400", "null", "[]", "{}", "7")))
    assert [(answer["id"], "error" in answer) for answer in answers] == [(None, True)] * 5 + [(7, False)]
