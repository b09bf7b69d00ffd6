"""Tests of the token in the path of /reconcile, and of CORS headers."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from onym.serve.admission import UNLOCKED, is_reconcile, take_secret
from onym.serve.server import Service
from tests.serve.stub import folder_of, with_service

TOKEN = "a/b+c%20d?e#0123456789"


def test_is_reconcile() -> None:
    paths = ("/reconcile", "/reconcile/", "/reconcile/preview", "/reconciled", "/v1/reconcile", "/")
    assert [is_reconcile(path) for path in paths] == [True, True, True, False, False, False]


@pytest.mark.parametrize(
    ("path", "after"),
    [
        (f"/reconcile/{TOKEN}", "/reconcile"),
        (f"/reconcile/{TOKEN}/", "/reconcile/"),
        (f"/reconcile/{TOKEN}/mesh/preview", "/reconcile/mesh/preview"),
        (f"/reconcile/{TOKEN}x", None),
        (f"/reconcile/{TOKEN[:-1]}", None),
        ("/reconcile/", None),
        ("/reconcile", None),
        (f"/v1/{TOKEN}/link", None),
        ("/reconcile/\ufffd\udcff", None),
    ],
)
def test_removes_token_from_path(path: str, after: str | None) -> None:
    scope: dict[str, Any] = {"path": path}
    assert take_secret(scope, TOKEN) is (after is not None)
    assert scope["path"] == (after or path)
    assert scope.get(UNLOCKED, False) is (after is not None)


def test_empty_token_leaves_path_unchanged() -> None:
    scope: dict[str, Any] = {"path": "/reconcile/preview"}
    assert not take_secret(scope, "")
    assert scope == {"path": "/reconcile/preview"}


def test_token_in_path_is_accepted_and_never_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def act(client: httpx.AsyncClient, service: Service) -> list[httpx.Response]:
        secret = quote(TOKEN, safe="")
        return [
            await client.get(f"/reconcile/{secret}"),
            await client.get(f"/reconcile/{secret}/suggest/type"),
            await client.get("/reconcile", headers={"authorization": f"Bearer {TOKEN}"}),
            await client.get("/reconcile"),
            await client.get("/reconcile/wrong/suggest/type"),
            await client.post("/reconcile", data={"queries": "{}"}),
            await client.get(f"/v1/{secret}/search?q=a"),
            await client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}),
        ]

    with caplog.at_level(logging.DEBUG, "onym.serve"):
        *answers, metrics = with_service(folder_of(tmp_path), act, host="0.0.0.0", token=TOKEN)
    assert [answer.status_code for answer in answers] == [200, 200, 200, 401, 401, 401, 401]
    assert answers[0].json()["job"]["base"] == f"http://localhost/reconcile/{quote(TOKEN, safe='')}"
    assert answers[2].json()["job"]["base"] == "http://localhost/reconcile"
    assert "/reconcile/TOKEN" in answers[3].json()["error"]["fix"]
    # Log records of Onym, without those of httpx.
    logged = "".join(each.getMessage() for each in caplog.records if not each.name.startswith("http"))
    assert "GET /reconcile 200" in logged
    for text in (logged, metrics.text, answers[4].text):
        assert TOKEN not in text
        assert quote(TOKEN, safe="") not in text


def test_cors_headers_for_reconcile_only(tmp_path: Path) -> None:
    origin = {"origin": "https://example.org"}

    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        return [
            await client.get("/reconcile", headers=origin),
            await client.get("/reconcile/no-such-path", headers=origin),
            await client.post("/reconcile", content=b"{", headers=origin),
            await client.options("/reconcile", headers=origin | {"access-control-request-method": "POST"}),
            await client.get("/reconcile", headers=origin | {"host": "evil.example"}),
            await client.get("/v1/search?q=a", headers=origin),
            await client.options("/v1/link", headers=origin | {"access-control-request-method": "POST"}),
            await client.get("/ready", headers=origin),
        ]

    answers = with_service(folder_of(tmp_path), act)
    assert [answer.status_code for answer in answers] == [200, 404, 415, 204, 421, 403, 403, 200]
    assert [answer.headers.get("access-control-allow-origin") for answer in answers] == ["*"] * 5 + [None] * 3
    assert not any("access-control-allow-credentials" in answer.headers for answer in answers)
    assert answers[3].headers["access-control-allow-methods"] == "GET, POST, OPTIONS"
