"""Requests of web pages of other sites."""

from __future__ import annotations

import pytest

from onym.serve.origins import is_foreign

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
def test_pages_of_other_origins(path: str, headers: dict[bytes, bytes]) -> None:
    assert is_foreign(path, HOST | headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {b"origin": b"http://localhost:8080"},
        {b"origin": b"HTTP://LOCALHOST:8080"},
        {b"sec-fetch-site": b"same-origin"},
        {b"sec-fetch-site": b"none"},
        {b"sec-fetch-site": b"same-origin", b"origin": b"https://onym.example.org"},  # a proxy that changed the host
    ],
)
def test_its_own_page_and_programs(headers: dict[bytes, bytes]) -> None:
    assert not is_foreign("/v1/link", HOST | headers)


@pytest.mark.parametrize("path", ["/reconcile", "/reconcile/", "/reconcile/token/suggest/entity"])
def test_reconciliation_is_for_other_pages(path: str) -> None:
    assert not is_foreign(path, HOST | {b"origin": b"http://evil.example", b"sec-fetch-site": b"cross-site"})
