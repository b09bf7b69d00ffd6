"""Tests of admitting or rejecting requests by their headers, before the body is read."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from onym.errors import InputError
from onym.serve.admission import ROUTE, Admission, is_foreign
from onym.serve.app import PAGE_FILES
from onym.serve.settings import ServeSettings

SECRET = "patient Smith"
TOKEN = "0123456789abcdef"


class Watch:
    def __init__(self) -> None:
        self.answers: list[tuple[str, int]] = []
        self.refusals: list[str] = []
        self.wait, self.is_draining = 0.0, False

    def request(self, route: str, status: int, seconds: float) -> None:
        self.answers.append((route, status))

    def note_refusal(self, code: str) -> None:
        self.refusals.append(code)

    def estimate_wait(self, path: str) -> float:
        return self.wait


class Guarded:
    """The admission middleware around an application that answers "yes"."""

    def __init__(self, app: Any = None, **changes: Any) -> None:
        self.watch, self.reads = Watch(), 0
        settings = ServeSettings(**({"pipelines": {"default": Path("p")}} | changes))
        self.admission = Admission(app or self.yes, settings, self.watch, self.watch, PAGE_FILES)

    async def yes(self, scope: Any, receive: Any, send: Any) -> None:
        scope[ROUTE]["route"] = "/v1/link"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"yes"})

    async def receive(self) -> MutableMapping[str, Any]:
        self.reads += 1
        return {"type": "http.request", "body": b"", "more_body": False}

    async def ask(self, path: str = "/v1/link", **headers: str) -> tuple[int, dict[str, str], Any]:
        sent: list[MutableMapping[str, Any]] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        pairs = {"host": "localhost:8080", **headers}
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in pairs.items() if value != "-"]
        scope = {"type": "http", "path": path, "method": "POST", "headers": raw}
        await self.admission(scope, self.receive, send)
        start, body = sent[0], b"".join(message["body"] for message in sent[1:])
        answered = {name.decode(): value.decode() for name, value in start["headers"]}
        return start["status"], answered, body if body == b"yes" else json.loads(body)["error"]["code"]

    def answer(self, path: str = "/v1/link", **headers: str) -> tuple[int, dict[str, str], Any]:
        return asyncio.run(self.ask(path, **headers))


def test_admits_valid_request() -> None:
    guarded = Guarded()
    status, headers, body = guarded.answer()
    assert (status, body, len(headers["x-request-id"])) == (200, b"yes", 32)
    assert guarded.watch.answers == [("/v1/link", 200)]
    assert guarded.admission.in_flight == 0


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "", "-"])
def test_rejects_unknown_host(host: str) -> None:
    guarded = Guarded()
    assert guarded.answer(host=host)[::2] == (421, "serve-host")
    assert (guarded.reads, guarded.watch.refusals) == (0, ["serve-host"])


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8080", "[::1]:8080", "onym.example"])
def test_admits_allowed_hosts(host: str) -> None:
    assert Guarded(allow_hosts=("onym.example",)).answer(host=host)[0] == 200


@pytest.mark.parametrize("sent", ["-", "", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN])
def test_rejects_wrong_token_without_reading_body(sent: str) -> None:
    guarded = Guarded(token=TOKEN)
    status, headers, code = guarded.answer(authorization=sent)
    assert (status, code, headers["www-authenticate"], guarded.reads) == (401, "serve-token", "Bearer", 0)
    assert guarded.answer("/metrics", authorization=sent)[0] == 401
    assert guarded.answer("/live", authorization=sent)[0] == guarded.answer("/ready", authorization=sent)[0] == 200


def test_admits_right_token() -> None:
    assert Guarded(token=TOKEN).answer(authorization=f"Bearer {TOKEN}")[0] == 200


def test_rejects_large_content_length() -> None:
    guarded = Guarded(max_body=100)
    assert guarded.answer(content_length="100")[0] == 200
    status, headers, code = guarded.answer(content_length="101")
    assert (status, code, headers["connection"], guarded.reads) == (413, "serve-body", "close", 0)
    assert guarded.answer("/v1/link/batch", content_length="101")[0] == 200


@pytest.mark.parametrize("size", ["-1", "1e3", "", "9" * 5_000, "1 2"])
def test_rejects_invalid_content_length(size: str) -> None:
    assert Guarded().answer(content_length=size)[::2] == (400, "request-malformed")


def test_rejects_excess_requests_with_retry_after() -> None:
    waiting = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await waiting.wait()
        await guarded.yes(scope, receive, send)

    async def act() -> None:
        first = [asyncio.create_task(guarded.ask()) for _ in range(2)]
        await asyncio.sleep(0)
        assert guarded.admission.in_flight == 2
        status, headers, code = await guarded.ask()
        assert (status, code, int(headers["retry-after"])) == (429, "serve-overloaded", 1)
        assert (await guarded.ask("/metrics"))[0] == 200 if waiting.is_set() else True
        waiting.set()
        assert [status for status, *_ in await asyncio.gather(*first)] == [200, 200]
        assert (await guarded.ask())[0] == 200

    guarded = Guarded(slow, max_requests=2)
    asyncio.run(act())


def test_rejects_long_wait_with_matching_retry_after() -> None:
    guarded = Guarded(max_wait=10)
    guarded.watch.wait = 9.9
    assert guarded.answer()[0] == 200
    guarded.watch.wait = 50.0
    status, headers, _ = guarded.answer()
    assert status == 429
    assert 40 <= int(headers["retry-after"]) <= 60
    assert guarded.answer("/ready")[0] == 200


def test_keeps_valid_request_ids() -> None:
    assert Guarded().answer(x_request_id="a-1.B_2")[1]["x-request-id"] == "a-1.B_2"
    for wrong in (SECRET, "a" * 65, "a\nb"):
        assert Guarded().answer(x_request_id=wrong)[1]["x-request-id"] != wrong


def test_closes_connections_while_draining() -> None:
    guarded = Guarded()
    guarded.watch.is_draining = True
    assert guarded.answer()[1]["connection"] == "close"
    assert guarded.answer(host="evil.example")[1]["connection"] == "close"


def test_exceptions_become_codes_in_responses_and_logs(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError(SECRET)

    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        raise InputError("request-malformed", "no JSON")

    caplog.set_level(logging.INFO, "onym.serve")
    assert Guarded(fail).answer(f"/v1/{SECRET}")[::2] == (500, "internal-error")
    assert Guarded(refuse).answer()[::2] == (400, "request-malformed")
    assert "internal-error" in caplog.text
    assert "Smith" not in caplog.text


def test_exception_after_headers_truncates_response() -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"yes", "more_body": True})
        raise ValueError(SECRET)

    guarded = Guarded(fail)
    assert guarded.answer()[::2] == (200, b"yes")
    assert guarded.watch.answers == [("other", 200)]


def test_gives_up_on_client_that_does_not_read() -> None:
    async def act() -> None:
        async def send(_: Any) -> None:
            await asyncio.sleep(60)

        scope = {"type": "http", "path": "/v1/link", "method": "POST", "headers": [(b"host", b"localhost")]}
        await asyncio.wait_for(guarded.admission(scope, guarded.receive, send), 5)

    guarded = Guarded(timeout=0.05)
    asyncio.run(act())
    assert guarded.admission.in_flight == 0


def test_rejects_cross_origin_page_without_reading_body() -> None:
    guarded = Guarded()
    assert guarded.answer(origin="http://evil.example")[::2] == (403, "serve-origin")
    assert guarded.answer(sec_fetch_site="cross-site")[::2] == (403, "serve-origin")
    assert (guarded.reads, guarded.watch.refusals) == (0, ["serve-origin", "serve-origin"])
    assert guarded.answer(sec_fetch_site="same-origin", origin="http://localhost:8080")[0] == 200
    assert guarded.answer("/reconcile", sec_fetch_site="cross-site")[0] == 200


def test_page_needs_no_token_and_is_served_under_load() -> None:
    guarded = Guarded(token=TOKEN, max_wait=1)
    guarded.watch.wait = 100.0
    assert guarded.answer("/", sec_fetch_site="cross-site")[0] == guarded.answer("/page/page.js")[0] == 200


def test_rejections_have_security_headers() -> None:
    headers = Guarded().answer(host="evil.example")[1]
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"


HOST = {b"host": b"localhost:8080"}


@pytest.mark.parametrize(
    "headers",
    [
        {b"origin": b"http://evil.example"},
        {b"origin": b"http://localhost:3000"},
        {b"origin": b"http://localhost"},
        {b"origin": b"null"},
        {b"origin": b""},
        {b"origin": b"http://[evil"},
        {b"origin": b"http://localhost:8080@evil.example"},
        {b"sec-fetch-site": b"cross-site"},
        {b"sec-fetch-site": b"same-site"},
        {b"sec-fetch-site": b""},
        {b"sec-fetch-site": b"cross-site", b"origin": b"http://localhost:8080"},
    ],
)
@pytest.mark.parametrize("path", ["/v1/link", "/v1/search", "/metrics", "/reconciled", "/v1/reconcile"])
def test_foreign_origins_are_detected(path: str, headers: dict[bytes, bytes]) -> None:
    assert is_foreign(path, HOST | headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {b"origin": b"http://localhost:8080"},
        {b"origin": b"HTTP://LOCALHOST:8080"},
        {b"sec-fetch-site": b"same-origin"},
        {b"sec-fetch-site": b"none"},
        # The request came through a proxy that changed the host.
        {b"sec-fetch-site": b"same-origin", b"origin": b"https://onym.example.org"},
    ],
)
def test_own_page_and_other_clients_are_not_foreign(headers: dict[bytes, bytes]) -> None:
    assert not is_foreign("/v1/link", HOST | headers)


@pytest.mark.parametrize("path", ["/reconcile", "/reconcile/", "/reconcile/token/suggest/entity"])
def test_reconcile_allows_all_origins(path: str) -> None:
    assert not is_foreign(path, HOST | {b"origin": b"http://evil.example", b"sec-fetch-site": b"cross-site"})
