"""Tests of the whole application: several pipelines, health checks, OpenAPI description."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from onym.serve.routes import Options
from onym.serve.server import Service
from tests.serve.stub import folder_of, settings_of, stubs, with_service


def folders(tmp_path: Path) -> dict[str, Path]:
    found = {name: tmp_path / name for name in ("mesh", "hpo")}
    for name, folder in found.items():
        folder.mkdir()
        folder_of(folder, f"{name}-1")
    return found


def test_serves_several_pipelines(tmp_path: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        paths = ("/v1/link", "/v1/mesh/link", "/v1/hpo/link", "/v1/other/link")
        return [await client.post(path, json={"text": "a"}) for path in paths] + [await client.get("/v1/pipelines")]

    *answers, listed = with_service(tmp_path, act, pipelines=folders(tmp_path))
    assert [answer.headers.get("onym-release") for answer in answers] == ["mesh-1", "mesh-1", "hpo-1", None]
    assert answers[-1].status_code == 404
    assert {name: each["kb"] for name, each in listed.json().items()} == {"mesh": "kb-mesh-1", "hpo": "kb-hpo-1"}


def test_health(tmp_path: Path) -> None:
    async def act(client: httpx.AsyncClient, service: Service) -> list[httpx.Response]:
        before = [await client.get("/live"), await client.get("/ready")]
        service.lifecycle.is_draining = True
        return [
            *before,
            await client.get("/live"),
            await client.get("/ready"),
            await client.post("/v1/link", json={"text": "a"}),
        ]

    answers = with_service(folder_of(tmp_path), act)
    assert [answer.status_code for answer in answers] == [200, 200, 200, 503, 200]
    assert [answer.headers.get("connection") for answer in answers] == [None, None, "close", "close", "close"]


def test_not_ready_before_pipelines_are_open(tmp_path: Path) -> None:
    async def act() -> list[httpx.Response]:
        service = Service(settings_of(folder_of(tmp_path)), lambda _: stubs())
        transport = httpx.ASGITransport(service.admission)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            body: dict[str, Any] = {"json": {"text": "a"}}
            return [await client.get("/ready"), await client.post("/v1/link", **body), await client.get("/metrics")]

    ready, linked, metrics = asyncio.run(act())
    assert (ready.status_code, linked.status_code, metrics.status_code) == (503, 503, 200)
    assert linked.json()["error"]["code"] == "serve-not-ready"
    assert linked.headers["retry-after"] == "1"


def test_metrics_contain_routes_and_no_text(tmp_path: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> str:
        await client.post("/v1/link", json={"text": "patient Smith"})
        await client.get("/v1/search", params={"q": "Smith"})
        await client.get("/v1/concepts/Smith")
        await client.get("/v1/Smith")
        return (await client.get("/metrics")).text

    text = with_service(folder_of(tmp_path), act)
    assert 'onym_requests_total{route="/v1/link",status="200"} 1.0' in text
    assert 'onym_requests_total{route="/v1/concepts/{id}",status="200"} 1.0' in text
    assert 'onym_requests_total{route="other",status="404"} 1.0' in text
    assert "Smith" not in text


def test_openapi_has_all_routes_with_examples(tmp_path: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> Any:
        return (await client.get("/openapi.json")).json()

    described = with_service(tmp_path, act, pipelines=folders(tmp_path))
    paths = ("link", "link/batch", "map", "concepts/{concept_id}", "search", "workbook")
    expected = {f"/v1/{prefix}{path}" for prefix in ("", "mesh/", "hpo/") for path in paths}
    assert set(described["paths"]) == expected | {"/live", "/ready", "/v1/pipelines"}
    content = described["paths"]["/v1/link"]["post"]["requestBody"]["content"]["application/json"]
    assert content["schema"] == {"$ref": "#/components/schemas/LinkRequest"}
    taken = described["components"]["schemas"]["LinkRequest"]
    assert {"text", "document", *Options.model_fields, "top_k", "format", "explain"} == set(taken["properties"])
    assert content["examples"]
    assert "429" in described["paths"]["/v1/link"]["post"]["responses"]


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
def test_no_docs_pages_with_external_scripts(tmp_path: Path, path: str) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.get(path)

    assert with_service(folder_of(tmp_path), act).status_code == 404


def test_failing_route_returns_error_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> Any:
        raise ValueError("patient Smith")

    monkeypatch.setattr("onym.serve.app.ask", fail)

    async def act(client: httpx.AsyncClient, _: Service) -> httpx.Response:
        return await client.post("/v1/link", json={"text": "patient Smith"})

    answer = with_service(folder_of(tmp_path), act)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal-error")
    assert "Smith" not in answer.text
