"""Tests of the routes of /reconcile: the jobs they send to stub linkers, and the responses of real linkers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.serve.running import Running

from onym.errors import InputError
from onym.serve.reconcile.routes import fields_of
from onym.serve.server import Service
from tests.robustness.serve.reconcile_cases import ReconcileCases, ReconcileSchemas
from tests.serve.reconcile.conftest import HOSTILE
from tests.serve.stub import folder_of, with_service


def test_routes_pass_requests_to_linker(tmp_path: Path) -> None:
    queries = json.dumps({"q0": {"query": "fever"}})
    extend = json.dumps({"ids": ["a"], "properties": [{"id": "name"}]})

    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        return [
            await client.get("/reconcile"),
            await client.get("/reconcile", params={"queries": queries}),
            await client.post("/reconcile/", data={"queries": queries}),
            await client.post("/reconcile", data={"extend": extend}),
            await client.get("/reconcile/suggest/entity", params={"prefix": "fe", "cursor": 2}),
        ]

    answers = with_service(folder_of(tmp_path), act, match_precision=0.9, public_url="https://onym.example.org/")
    job = {"text": "fever", "types": [], "is_all": False, "limit": None, "context": ""}
    reconcile = {"op": "reconcile", "queries": {"q0": job}, "precision": 0.9}
    assert [answer.json()["job"] for answer in answers] == [
        {"op": "manifest", "base": "https://onym.example.org/reconcile", "name": "Onym", "precision": 0.9},
        reconcile,
        reconcile,
        {"op": "extend", "ids": ["a"], "properties": [{"id": "name", "settings": None}]},
        {"op": "suggest", "kind": "entity", "prefix": "fe", "limit": 10, "skip": 2},
    ]
    assert {answer.headers["onym-release"] for answer in answers} == {"r1"}
    assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}
    assert {answer.headers["cross-origin-resource-policy"] for answer in answers} == {"cross-origin"}


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"json": {"queries": {}}}, 415, "serve-media-type"),
        ({"data": {"queries": "{"}}, 400, "request-malformed"),
        ({"data": {"text": "Smith"}}, 400, "request-malformed"),
        ({"data": {"queries": "a" * 2_000}}, 413, "serve-body"),
        ({"content": b"\xff", "headers": {"content-type": "application/x-www-form-urlencoded"}}, 400, "request-malformed"),
        ({"data": {"extend": '{"ids": ["die"], "properties": []}', "id": "die"}}, 200, None),
    ],
)
def test_rejects_invalid_requests(tmp_path: Path, options: dict[str, Any], status: int, code: str | None) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.post("/reconcile", **options)

    answer = with_service(folder_of(tmp_path), act, max_body=1_000)
    assert (answer.status_code, answer.json().get("error", {}).get("code")) == (status, code)
    assert "Smith" not in answer.text


def test_rejects_form_with_many_fields() -> None:
    with pytest.raises(InputError, match="request-malformed"):
        fields_of(b"a&" * 1_000)
    assert fields_of("queries={\u00e9}".encode())["queries"] == "{\u00e9}"


def test_each_pipeline_has_its_own_routes(tmp_path: Path) -> None:
    folders = {}
    for name in ("mesh", "hpo"):
        (tmp_path / name).mkdir()
        folders[name] = folder_of(tmp_path / name, name)

    async def act(client: httpx.AsyncClient, _: Service) -> list[Any]:
        paths = ("/reconcile", "/reconcile/mesh", "/reconcile/hpo", "/reconcile/hpo/suggest/type", "/reconcile/none")
        return [(await client.get(path)).json() for path in paths]

    first, mesh, hpo, types, none = with_service(tmp_path, act, pipelines=folders)
    assert [each["release"] for each in (first, mesh, hpo, types)] == ["mesh", "mesh", "hpo", "hpo"]
    assert (hpo["job"]["base"], hpo["job"]["name"]) == ("http://localhost/reconcile/hpo", "Onym hpo")
    assert none["error"]["code"] == "serve-path"


@pytest.mark.real_data
def test_responses_conform_to_specification(folder: Path, real_specs: Path, tmp_path: Path) -> None:
    schemas = ReconcileSchemas(real_specs / "reconciliation-0.2" / "0.2")
    service = Running(folder, tmp_path / "log.txt")
    try:
        service.wait_until_ready()
        base = f"{service.url}/reconcile"
        ids = ["MESH:D005334", "mesh:D009203", "D000001"]
        cases = [*schemas.own_cases(), *ReconcileCases(base, schemas, ["fever", "MI", "zzz"], ids, ["Disease", "C14"]).run()]
        card = httpx.get(f"{base}/preview", params={"id": "D000001"})
    finally:
        service.stop()
    assert len(cases) > 150
    assert [(name, problems) for name, problems in cases if problems] == []
    assert HOSTILE not in card.text
    assert "&lt;script&gt;" in card.text
    assert "fever" not in service.read_log()
