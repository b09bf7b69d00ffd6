"""Tests of the files of the web page and their headers; `test_page_browser` tests the page in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from onym.serve.app import PAGE_FILES, PAGE_POLICY
from onym.serve.server import Service
from tests.serve.stub import folder_of, with_service

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("path", PAGE_FILES)
def test_files_have_strict_content_security_policy(tmp_path: Path, path: str) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> tuple[httpx.Response, httpx.Response]:
        return await client.get(path), await client.head(path)

    # The page needs no token, because its files contain nothing secret.
    got, head = with_service(folder_of(tmp_path), act, token=TOKEN)
    assert (got.status_code, got.content) == (200, PAGE_FILES[path].content)
    assert (head.status_code, head.content) == (200, b"")
    assert got.headers["content-type"] == PAGE_FILES[path].media_type
    assert got.headers["content-security-policy"] == PAGE_POLICY
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["referrer-policy"] == "no-referrer"
    assert got.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/page", "/page/", "/page/../app.py", "/page/%2e%2e/app.py", "/page/index.html"])
def test_serves_no_other_files(tmp_path: Path, path: str) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> int:
        return (await client.get(path)).status_code

    assert with_service(folder_of(tmp_path), act) == 404


def test_other_responses_cannot_run_be_framed_or_cached(tmp_path: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        paths = ("/live", "/v1/pipelines", "/openapi.json", "/v1/search?q=fever", "/nothing")
        answers = [await client.get(path) for path in paths]
        refused = await client.get("/v1/pipelines", headers={"host": "evil.example"})
        return [*answers, refused, await client.post("/v1/link", json={"text": "fever"})]

    for answer in with_service(folder_of(tmp_path), act):
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_rejects_pages_of_other_origins(tmp_path: Path) -> None:
    async def act(client: httpx.AsyncClient, _: Service) -> list[httpx.Response]:
        headers = {"sec-fetch-site": "cross-site", "origin": "http://evil.example"}
        paths = ("/v1/search?q=fever", "/metrics", "/", "/live")
        return [await client.get(path, headers=headers) for path in paths]

    answers = with_service(folder_of(tmp_path), act)
    assert [answer.status_code for answer in answers] == [403, 403, 200, 200]
    assert answers[0].json()["error"]["code"] == "serve-origin"
    assert all("access-control-allow-origin" not in answer.headers for answer in answers)


SCRIPTS = {path: file.content.decode() for path, file in PAGE_FILES.items() if path.endswith(".js")}
HTML = PAGE_FILES["/"].content.decode()
DANGEROUS = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "new Function", "srcdoc")


def test_policy_allows_only_own_files() -> None:
    rules = dict(rule.split(" ", 1) for rule in PAGE_POLICY.split("; "))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert not re.search(r"unsafe|\*|http|data:|blob:", PAGE_POLICY)


def test_all_referenced_files_exist() -> None:
    named = re.findall(r'(?:src|href)="(page/[^"]+)"', HTML)
    imported = [f"page/{name}" for text in SCRIPTS.values() for name in re.findall(r'from "\./([^"]+)"', text)]
    assert named
    assert imported
    assert {f"/{name}" for name in named + imported} == set(PAGE_FILES) - {"/"}


def test_html_has_no_inline_script_style_or_handler() -> None:
    assert not re.search(r"<style|style=|\son\w+=|javascript:", HTML)
    assert re.findall(r"<script([^>]*)>([^<]*)<", HTML) == [(' type="module" src="page/page.js"', "")]


def test_urls_are_relative() -> None:
    for path, file in PAGE_FILES.items():
        addresses = re.findall(rb"(?:https?:)?//[a-z0-9.-]+\.[a-z]+[^\s\"'`]*", file.content)
        assert all(address.startswith((b"http://schemas.", b"http://www.w3.org/")) for address in addresses), path


@pytest.mark.parametrize("path", SCRIPTS)
def test_scripts_never_parse_text_as_html(path: str) -> None:
    assert [word for word in DANGEROUS if word in SCRIPTS[path]] == []


def test_files_are_small() -> None:
    assert sum(len(file.content) for file in PAGE_FILES.values()) < 100_000
