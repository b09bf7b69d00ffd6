"""Tests of error responses, and of default security headers."""

from __future__ import annotations

import json

import pytest

from onym.errors import ConfigError, InputError, IntegrityError, InternalError, LimitError, OnymError, UnknownConceptError
from onym.serve.refusals import (
    POLICY,
    add_safe_headers,
    body_of,
    dead_worker_error,
    headers_of,
    not_ready_error,
    overload_error,
    status_of,
    timeout_error,
)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (overload_error(), 429),
        (timeout_error(), 504),
        (not_ready_error(), 503),
        (dead_worker_error(), 503),
        (ConfigError("serve-token", "none"), 401),
        (ConfigError("serve-host", "none"), 421),
        (LimitError("serve-body", "none"), 413),
        (InputError("serve-slow-body", "none"), 408),
        (InputError("request-malformed", "none"), 400),
        (ConfigError("config-invalid", "none"), 422),
        (InputError("document-failed", "none"), 422),
        (UnknownConceptError("concept-unknown", "none"), 404),
        (LimitError("limit-record", "none"), 413),
        (IntegrityError("artefact-corrupt", "none"), 500),
        (InternalError("internal-error", "none"), 500),
    ],
)
def test_status_of_each_error(error: OnymError, status: int) -> None:
    assert status_of(error) == status


def test_body_equals_json_error_of_commands() -> None:
    assert json.loads(body_of(timeout_error())) == {"error": timeout_error().as_dict()}
    assert timeout_error().code == "serve-timeout"


def test_retry_after_and_www_authenticate_headers() -> None:
    assert headers_of(overload_error(), 7) == [(b"retry-after", b"7")]
    assert headers_of(dead_worker_error()) == headers_of(not_ready_error()) == [(b"retry-after", b"1")]
    assert headers_of(ConfigError("serve-token", "none")) == [(b"www-authenticate", b"Bearer")]
    assert headers_of(timeout_error()) == []
    assert [error.code for error in (overload_error(), dead_worker_error(), not_ready_error())] == [
        "serve-overloaded",
        "serve-worker-died",
        "serve-not-ready",
    ]


NAMES = {
    b"content-security-policy",
    b"cache-control",
    b"x-content-type-options",
    b"referrer-policy",
    b"cross-origin-resource-policy",
}


def test_adds_default_security_headers() -> None:
    found = dict(add_safe_headers([(b"content-type", b"application/json")]))
    assert set(found) == NAMES | {b"content-type"}
    assert found[b"content-security-policy"] == POLICY.encode()
    assert POLICY == "default-src 'none'; frame-ancestors 'none'"
    assert (found[b"cache-control"], found[b"x-content-type-options"]) == (b"no-store", b"nosniff")


def test_keeps_explicit_headers_once() -> None:
    own = [(b"content-security-policy", b"default-src 'self'"), (b"referrer-policy", b"origin")]
    found = add_safe_headers(own)
    assert found[:2] == own
    assert sorted(name for name, _ in found) == sorted(NAMES)
