"""The page as it is answered; `test_page_browser` looks at it in a browser."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from onym.serve.page_files import PAGE_FILES, POLICY
from onym.serve.server import Service
from tests.serve.stub import folder_of, with_service

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("path", PAGE_FILES)
def test_files_are_answered_with_a_strict_policy(tmp_path: Path, path: str) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> tuple[httpx.Response, httpx.Response]:
        return await client.get(path), await client.head(path)

    got, head = with_service(folder_of(tmp_path), act, token=TOKEN)  # none of them needs it: they say nothing
    assert (got.status_code, got.content) == (200, PAGE_FILES[path].content)
    assert (head.status_code, head.content) == (200, b"")
    assert got.headers["content-type"] == PAGE_FILES[path].media_type
    assert got.headers["content-security-policy"] == POLICY
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["referrer-policy"] == "no-referrer"
    assert got.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/page", "/page/", "/page/../app.py", "/page/%2e%2e/app.py", "/page/index.html"])
def test_there_are_no_other_files(tmp_path: Path, path: str) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> int:
        return (await client.get(path)).status_code

    assert with_service(folder_of(tmp_path), act) == 404


def test_other_answers_may_neither_run_nor_be_framed_nor_kept(tmp_path: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        paths = ("/live", "/v1/pipelines", "/openapi.json", "/v1/search?q=fever", "/nothing")
        answers = [await client.get(path) for path in paths]
        refused = await client.get("/v1/pipelines", headers={"host": "evil.example"})
        return [*answers, refused, await client.post("/v1/link", json={"text": "fever"})]

    for answer in with_service(folder_of(tmp_path), act):
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_pages_of_other_origins_are_refused(tmp_path: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        headers = {"sec-fetch-site": "cross-site", "origin": "http://evil.example"}
        paths = ("/v1/search?q=fever", "/metrics", "/", "/live")
        return [await client.get(path, headers=headers) for path in paths]

    answers = with_service(folder_of(tmp_path), act)
    assert [answer.status_code for answer in answers] == [403, 403, 200, 200]
    assert answers[0].json()["error"]["code"] == "serve-origin"
    assert all("access-control-allow-origin" not in answer.headers for answer in answers)
