"""Error responses with an HTTP status and the code, message and fix that commands print; default security headers.

By default, the headers forbid browsers to run scripts of a response, to frame it and to cache it. Routes may override this.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from onym.errors import ConfigError, InputError, IntegrityError, InternalError, LimitError, OnymError, UnknownConceptError

Headers = list[tuple[bytes, bytes]]
JSON = b"application/json"
_STATUS: dict[str, int] = {
    "serve-token": 401,
    "serve-origin": 403,
    "serve-csrf": 403,
    "serve-role": 403,
    "serve-path": 404,
    "serve-method": 405,
    "serve-slow-body": 408,
    "serve-body": 413,
    "serve-text": 413,
    "serve-media-type": 415,
    "serve-host": 421,
    "serve-overloaded": 429,
    "request-malformed": 400,
    "serve-worker-died": 503,
    "serve-not-ready": 503,
    "serve-timeout": 504,
}
_COME_AGAIN = frozenset({"serve-overloaded", "serve-not-ready", "serve-worker-died"})
_KINDS: tuple[tuple[type[OnymError], int], ...] = (
    (UnknownConceptError, 404),
    (InputError, 422),
    (ConfigError, 422),
    (LimitError, 413),
    (IntegrityError, 500),
)
POLICY = "default-src 'none'; frame-ancestors 'none'"
"""Content-Security-Policy of all responses except pages: browsers may not run, load or frame anything."""
_DEFAULTS: Headers = [
    (b"content-security-policy", POLICY.encode()),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


def status_of(error: OnymError) -> int:
    """Return the HTTP status for an error.

    >>> status_of(UnknownConceptError("concept-unknown", "no concept has the id")), status_of(overload_error())
    (404, 429)
    """
    if error.code in _STATUS:
        return _STATUS[error.code]
    return next((status for kind, status in _KINDS if isinstance(error, kind)), 500)


def body_of(error: OnymError) -> bytes:
    """Return an error as JSON.

    >>> body_of(InputError("request-malformed", "no JSON"))
    b'{"error":{"code":"request-malformed","what":"no JSON","where":"","fix":""}}'
    """
    return json.dumps({"error": error.as_dict()}, ensure_ascii=False, separators=(",", ":")).encode()


def headers_of(error: OnymError, retry_after: int = 1) -> Headers:
    """Return extra response headers (Retry-After, WWW-Authenticate)."""
    if error.code in _COME_AGAIN:
        return [(b"retry-after", str(retry_after).encode())]
    return [(b"www-authenticate", b"Bearer")] if error.code == "serve-token" else []


def overload_error() -> LimitError:
    """Return the error for a request that would wait too long."""
    return LimitError("serve-overloaded", "the service is overloaded", fix="retry later (see Retry-After)")


def too_much_text(characters: int, limit: int) -> LimitError:
    """Return the error for a text that would block a linker process for too long."""
    what = f"the text and its mentions count {characters:,} characters, more than {limit:,}"
    return LimitError("serve-text", what, fix="send it in parts, or raise --max-text")


def dead_worker_error() -> InternalError:
    """Return the error for requests whose linker process died while it worked on them."""
    fix = "retry once; if the same text fails again, report a bug"
    return InternalError("serve-worker-died", "the linker process died", fix=fix)


def timeout_error() -> LimitError:
    """Return the error for a request that took too long."""
    return LimitError("serve-timeout", "the request timed out", fix="send less text, or raise --timeout")


def not_ready_error() -> InternalError:
    """Return the error for requests that arrive before the pipeline is open."""
    return InternalError("serve-not-ready", "the pipeline is still loading", fix="wait until /ready returns 200")


def add_safe_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers of a response, plus each default security header that the response does not set itself.

    >>> add_safe_headers([(b"cache-control", b"no-cache")])[0], len(add_safe_headers([(b"cache-control", b"no-cache")]))
    ((b'cache-control', b'no-cache'), 5)
    """
    own = list(headers)
    names = {name for name, _ in own}
    return own + [each for each in _DEFAULTS if each[0] not in names]
