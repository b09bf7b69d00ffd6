"""The routes of a pipeline, in this process, over linker processes that are stubs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from onym.serve.server import Service
from tests.serve.stub import folder_of, with_service

NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of(tmp_path)


def test_each_route_hands_on_what_it_was_sent(folder: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        return [
            await client.post("/v1/link", json={"text": "fever", "top_k": 2}),
            await client.post("/v1/map", json={"terms": ["fever"]}),
            await client.get("/v1/concepts/mesh:D005334"),
            await client.get("/v1/search", params={"q": "fever", "limit": 3}),
        ]

    answers = with_service(folder, act)
    assert [answer.status_code for answer in answers] == [200] * 4
    assert [answer.json()["job"] for answer in answers] == [
        {"op": "link", "text": "fever", "top_k": 2},
        {"op": "map", "terms": ["fever"], "types": [], "precision": None},
        {"op": "concept", "id": "mesh:D005334"},
        {"op": "search", "q": "fever", "limit": 3},
    ]
    assert {answer.headers["onym-release"] for answer in answers} == {"r1"}
    assert {answer.headers["content-type"] for answer in answers} == {"application/json"}
    assert len({answer.headers["x-request-id"] for answer in answers}) == 4
    assert not any(name.startswith("access-control") for answer in answers for name in answer.headers)


@pytest.mark.parametrize(
    ("path", "options", "status", "code"),
    [
        ("/v1/link", {"content": b"{}", "headers": {"content-type": "text/plain"}}, 415, "serve-media-type"),
        ("/v1/link", {"content": b"{}"}, 415, "serve-media-type"),
        ("/v1/link", {"json": {"text": "a"}, "headers": {"content-encoding": "gzip"}}, 415, "serve-media-type"),
        ("/v1/link/batch", {"json": {"text": "a"}}, 415, "serve-media-type"),
        ("/v1/link", {"json": {"text": 7}}, 400, "request-malformed"),
        ("/v1/link", {"content": b"\xff", "headers": {"content-type": "application/json"}}, 400, "request-malformed"),
        ("/v1/map", {"json": {"terms": "Smith"}}, 400, "request-malformed"),
        ("/v1/link", {"json": {"text": "a" * 2_000}}, 413, "serve-body"),
        ("/v1/nothing", {"json": {}}, 404, "serve-path"),
        ("/v1/search", {"json": {}}, 405, "serve-method"),
        ("/v1/link", {"json": {"text": "die"}}, 503, "serve-worker-died"),
    ],
)
def test_what_is_refused(folder: Path, path: str, options: dict[str, Any], status: int, code: str) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.post(path, **options)

    answer = with_service(folder, act, max_body=1_000)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert set(answer.json()["error"]) == {"code", "what", "where", "fix"}
    assert "Smith" not in answer.text
    assert "x-request-id" in answer.headers


@pytest.mark.parametrize("query", ["", "?q=" + "Smith" * 300, "?q=a&limit=0", "?q=a&limit=Smith"])
def test_a_wrong_query_is_refused_without_its_text(folder: Path, query: str) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.get(f"/v1/search{query}")

    answer = with_service(folder, act)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "request-malformed")
    assert "Smith" not in answer.text


def test_a_body_without_a_length_is_counted(folder: Path) -> None:
    async def body() -> Any:
        for _ in range(20):
            yield b" " * 100

    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.post("/v1/link", content=body(), headers={"content-type": "application/json"})

    assert with_service(folder, act, max_body=1_000).status_code == 413


def test_lines(folder: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.post("/v1/link/batch", content=b'{"text": "a"}\n{}\n{"text": "b"}', headers=NDJSON)

    answer = with_service(folder, act)
    assert (answer.status_code, answer.headers["onym-release"]) == (200, "r1")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line.get("text", "error") for line in lines] == ["a", "error", "b"]


def test_no_answer_in_time(folder: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.post("/v1/link", json={"text": "sleep 1"})

    assert with_service(folder, act, timeout=0.2).status_code == 504


def test_many_at_once_and_too_many(folder: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        texts = ["sleep 0.3", *(str(number) for number in range(30))]
        return list(await asyncio.gather(*(client.post("/v1/link", json={"text": text}) for text in texts)))

    answers = with_service(folder, act, max_requests=20)
    assert sorted(answer.status_code for answer in answers) == [200] * 20 + [429] * 11
    assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 429)
    for number, answer in enumerate(answers[1:]):
        assert answer.status_code == 429 or answer.json()["text"] == str(number)


def test_ids_may_hold_slashes(folder: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        return [await client.get(f"/v1/concepts/{name}") for name in ("orpha:1%2F2", "orpha:1/2", "orpha:%3Cb%3E")]

    assert [answer.json()["job"]["id"] for answer in with_service(folder, act)] == ["orpha:1/2", "orpha:1/2", "orpha:<b>"]
