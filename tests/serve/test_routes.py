"""Tests of the routes of a pipeline, with stub linker processes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from onym.errors import InputError
from onym.kb.ranking import ConceptFilter
from onym.serve import routes
from onym.serve.app import ErrorReply
from onym.serve.refusals import overload_error
from onym.serve.routes import MAX_TERM, MAX_TERMS, PER_SURFACE, Options, all_routes, parse
from onym.serve.routes.link import LinkedReply, LinkReply, LinkRequest
from onym.serve.routes.terms import MapRequest
from onym.serve.server import Service
from onym.types import COLUMNS
from tests.serve.stub import folder_of, with_service

NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of(tmp_path)


def test_routes_pass_requests_to_linker(folder: Path) -> None:
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
        {"op": "map", "terms": ["fever"], **Options().model_dump(), "candidates": 0},
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
def test_rejects_invalid_requests(folder: Path, path: str, options: dict[str, Any], status: int, code: str) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.post(path, **options)

    answer = with_service(folder, act, max_body=1_000)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert set(answer.json()["error"]) == {"code", "what", "where", "fix"}
    assert "Smith" not in answer.text
    assert "x-request-id" in answer.headers


@pytest.mark.parametrize("query", ["", "?q=" + "Smith" * 300, "?q=a&limit=0", "?q=a&limit=Smith"])
def test_invalid_query_error_shows_no_text(folder: Path, query: str) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.get(f"/v1/search{query}")

    answer = with_service(folder, act)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "request-malformed")
    assert "Smith" not in answer.text


def test_limits_body_without_content_length(folder: Path) -> None:
    async def body() -> Any:
        for _ in range(20):
            yield b" " * 100

    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.post("/v1/link", content=body(), headers={"content-type": "application/json"})

    assert with_service(folder, act, max_body=1_000).status_code == 413


def test_link_batch(folder: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.post("/v1/link/batch", content=b'{"text": "a"}\n{}\n{"text": "b"}', headers=NDJSON)

    answer = with_service(folder, act)
    assert (answer.status_code, answer.headers["onym-release"]) == (200, "r1")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line.get("text", "error") for line in lines] == ["a", "error", "b"]


def test_slow_request_times_out(folder: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.post("/v1/link", json={"text": "sleep 1"})

    assert with_service(folder, act, timeout=0.2).status_code == 504


def test_rejects_requests_beyond_max_requests(folder: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        texts = ["sleep 0.3", *(str(number) for number in range(30))]
        return list(await asyncio.gather(*(client.post("/v1/link", json={"text": text}) for text in texts)))

    answers = with_service(folder, act, max_requests=20)
    assert sorted(answer.status_code for answer in answers) == [200] * 20 + [429] * 11
    assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 429)
    for number, answer in enumerate(answers[1:]):
        assert answer.status_code == 429 or answer.json()["text"] == str(number)


def test_ids_may_contain_slashes(folder: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        return [await client.get(f"/v1/concepts/{name}") for name in ("orpha:1%2F2", "orpha:1/2", "orpha:%3Cb%3E")]

    assert [answer.json()["job"]["id"] for answer in with_service(folder, act)] == ["orpha:1/2", "orpha:1/2", "orpha:<b>"]


def test_new_route_module_is_picked_up(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "shout.py").write_text(_SHOUT)
    monkeypatch.setattr(routes, "__path__", [*routes.__path__, str(tmp_path / "more")])
    monkeypatch.setattr("onym.serve.routes.all_routes", routes.all_routes.__wrapped__)
    monkeypatch.setattr("onym.serve.app.all_routes", routes.all_routes)

    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        paths = ("/v1/shout/fever", "/v1/shout/fever?times=Smith", "/openapi.json")
        return [await client.get(path) for path in paths]

    answer, refused, described = with_service(folder, act)
    assert answer.json()["job"] == {"op": "shout", "text": "fever", "times": 2}
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "request-malformed")
    operation = described.json()["paths"]["/v1/shout/{text}"]["get"]
    assert [(each["name"], each["in"]) for each in operation["parameters"]] == [("text", "path"), ("times", "query")]
    assert operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/ShoutReply")
    [route] = (each for each in routes.all_routes() if each.op == "shout")
    assert route.act is not None
    assert route.act(None, answer.json()["job"]) == {"text": "FEVERFEVER"}  # type: ignore[arg-type]


_SHOUT = """
from onym.serve.routes import Reply, Request, Route

class ShoutRequest(Request):
    text: str
    times: int = 2

class ShoutReply(Reply):
    text: str

def shout(pipeline, job):
    return {"text": job["text"].upper() * job["times"]}

ROUTES = (Route("/shout/{text}", "shout", ShoutRequest, ShoutReply, "Shout.", act=shout, method="GET"),)
"""


SECRET = "patient Smith"


def test_parses_text_and_document() -> None:
    assert parse(LinkRequest, b'{"text": "", "top_k": 3}').top_k == 3
    wanted = parse(LinkRequest, json.dumps({"document": {"id": "1", "text": "fever"}, "types": ["Disease"]}).encode())
    assert (wanted.characters, wanted.types) == (5, ["Disease"])
    assert parse(MapRequest, b'{"terms": ["fever", null]}').characters == PER_SURFACE + 5


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"text": SECRET, "document": {"text": SECRET}},
        {"text": [SECRET]},
        {"text": SECRET, SECRET: 1},
        {"text": SECRET, "top_k": 0},
        {"text": SECRET, "top_k": SECRET},
        {"text": SECRET, "precision": 1.0},
        {"text": SECRET, "types": SECRET},
        {"text": SECRET, "types": [SECRET * MAX_TERM]},
        {"text": SECRET, "format": SECRET},
        {"document": SECRET},
        SECRET,
        [SECRET],
        None,
    ],
)
def test_invalid_request_error_shows_no_text(wrong: Any) -> None:
    with pytest.raises(InputError, match="request-malformed") as caught:
        parse(LinkRequest, json.dumps(wrong).encode())
    assert "Smith" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_unknown_key_is_named_unless_it_looks_like_text() -> None:
    for key, named in (("asertion", "asertion"), ("top-k", ""), (SECRET, ""), ("smith" * 5, "")):
        with pytest.raises(InputError) as caught:
            parse(LinkRequest, json.dumps({"text": "fever", key: True}).encode())
        assert caught.value.what == f"body: unknown key {named}".rstrip(), key


@pytest.mark.parametrize(
    "wrong", [b"", b"{", b'{"text": "\xff"}', b'{"text": "\\ud800"}', b"[" * 100_000, b'{"text": "Smith"', b"\x00"]
)
def test_rejects_invalid_json(wrong: bytes) -> None:
    with pytest.raises(InputError, match="request-malformed") as caught:
        parse(LinkRequest, wrong)
    assert "Smith" not in str(caught.value)


def test_cost_includes_mention_surfaces() -> None:
    document = {"id": "1", "text": "a" * 1_000, "mentions": [{"start": 0, "end": 1_000}] * 40}
    assert parse(LinkRequest, json.dumps({"document": document}).encode()).characters == 1_000 + 40 * (PER_SURFACE + 1_000)
    for odd in ({"start": 9, "end": 1}, {"start": "Smith"}, {}, 7, None):
        wanted = parse(LinkRequest, json.dumps({"document": {"text": "", "mentions": [odd]}}).encode())
        assert wanted.characters == PER_SURFACE
    assert parse(LinkRequest, b'{"document": {"text": "fever", "mentions": 7}}').characters == 5


def test_rejects_text_beyond_max_text(folder: Path) -> None:
    mention = {"start": 0, "end": 50}

    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        return [
            await client.post("/v1/link", json={"text": "a" * 500}),
            await client.post("/v1/link", json={"text": "a" * 501}),
            await client.post("/v1/link", json={"document": {"id": "1", "text": "a" * 50, "mentions": [mention] * 5}}),
            await client.post("/v1/link/batch", content=json.dumps({"text": "a" * 501}), headers=NDJSON),
        ]

    answers = with_service(folder, act, max_text=500)
    assert [answer.status_code for answer in answers] == [200, 413, 413, 200]
    assert [answer.json()["error"]["code"] for answer in answers[1:]] == ["serve-text"] * 3


def test_limits_number_and_length_of_terms() -> None:
    assert len(parse(MapRequest, json.dumps({"terms": ["a"] * MAX_TERMS}).encode()).terms) == MAX_TERMS
    for wrong in (["a"] * (MAX_TERMS + 1), ["a" * (MAX_TERM + 1)], [7]):
        with pytest.raises(InputError, match="request-malformed"):
            parse(MapRequest, json.dumps({"terms": wrong}).encode())


def test_explain_needs_links_format() -> None:
    assert parse(LinkRequest, b'{"text": "fever", "explain": true}').explain
    with pytest.raises(InputError, match="explain: true requires format: links"):
        parse(LinkRequest, b'{"text": "fever", "explain": true, "format": "document"}')


@pytest.mark.parametrize("wrong", [b"[" * 300 + b"]" * 300, b'{"a":' * 300 + b"1" + b"}" * 300])
def test_rejects_deeply_nested_json(wrong: bytes) -> None:
    right = b"[" * 100 + b"]" * 100
    assert parse(LinkRequest, b'{"document": {"text": "fever", "more": %b}}' % right).characters == 5
    with pytest.raises(InputError, match="not JSON"):
        parse(LinkRequest, b'{"document": {"text": "Smith", "more": %b}}' % wrong)


def test_options_apply_to_all_linking_routes() -> None:
    for kind in (LinkRequest, MapRequest):
        assert Options.model_fields.keys() <= kind.model_fields.keys()
    assert Options.model_fields.keys() - {"precision", "assertion"} == ConceptFilter.model_fields.keys() - {"concepts"}
    assert Options.of({"types": ["Disease"], "precision": 0.9}) == (
        ("Disease",),
        None,
        None,
        None,
        0.9,
        None,
        False,
    )
    assert Options.of({"types": []}) == Options.of({}) == (*[None] * 6, False)
    assert Options.of({"op": "map"})[-1]


def test_examples_match_their_models() -> None:
    [route] = (each for each in all_routes() if each.example)
    linked = LinkedReply.model_validate(route.example)
    assert linked.text[linked.links[0].start : linked.links[0].end] == linked.links[0].text
    assert ErrorReply.model_validate({"error": overload_error().as_dict()}).error.code == "serve-overloaded"


def test_link_has_columns_of_flat_table() -> None:
    assert tuple(LinkReply.model_fields) == (*COLUMNS, "candidates", "extra")
