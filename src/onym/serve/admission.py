"""ASGI middleware that admits or rejects a request by its path and headers, before the body is read.

It is plain ASGI without a framework, because rejecting a request must be cheap when the service is overloaded. The middleware
also assigns request ids, and is the outermost exception handler: only the error code and a safe message are logged.

Pages of other origins may only use /reconcile: its responses have CORS headers, without credentials. OpenRefine cannot send an
Authorization header, so the token is part of the path there: `/reconcile/TOKEN`.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import random
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from typing import Any, Protocol

from onym.errors import ConfigError, InputError, OnymError, to_onym_error
from onym.serve.bodies import Receive, SlowBodies, too_large
from onym.serve.refusals import JSON, Headers, add_safe_headers, body_of, headers_of, overload_error, status_of
from onym.serve.settings import ServeSettings

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Scope = MutableMapping[str, Any]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
OPEN = frozenset({"/live", "/ready"})
"""Paths that need no token, like the files of the page: they reveal nothing about pipelines or requests."""
FREE = frozenset({"/metrics", "/openapi.json"})
"""Further paths that are answered even when the service is overloaded."""
ROUTE = "onym"
"""Scope key of the route name, which metrics and logs use instead of the path: paths contain ids, and query strings text."""
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_PORT = re.compile(r":\d{1,5}$")
_STREAM = "/link/batch"
_DIGITS = 18
_log = logging.getLogger("onym.serve")
_OWN = frozenset({b"same-origin", b"none"})
ROOT = "/reconcile"
UNLOCKED = "onym.unlocked"
"""Scope key that is set if the token was in the path."""
CORS: Headers = [(b"access-control-allow-origin", b"*")]


class Load(Protocol):
    """The current load of the service, and whether the service is shutting down."""

    @property
    def is_draining(self) -> bool:
        """True if the service is shutting down; responses then close their connections."""

    def estimate_wait(self, path: str) -> float:
        """Return the expected queueing time of a request to a path, in seconds."""


class RequestWatch(Protocol):
    """Callbacks for answered and rejected requests."""

    def request(self, route: str, status: int, seconds: float) -> None:
        """Handle an answered request."""

    def note_refusal(self, code: str) -> None:
        """Handle a rejected request."""


class Admission:
    """ASGI middleware that wraps the application. `pages` are the paths that need no token."""

    def __init__(self, app: App, settings: ServeSettings, load: Load, watch: RequestWatch, pages: Collection[str] = ()) -> None:
        self._app, self._settings, self._load, self._watch = app, settings, load, watch
        self._open = OPEN.union(pages)
        self._free = self._open | FREE
        self._tokens = [f"Bearer {token}".encode() for token in settings.bearer_tokens]
        self._hosts = settings.hosts
        self._admitted, self._slow_bodies = 0, SlowBodies(settings.max_requests)

    @property
    def in_flight(self) -> int:
        """The number of admitted requests, except for those that wait for their bodies."""
        return self._admitted - len(self._slow_bodies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject the request, or pass it to the application."""
        if scope["type"] != "http":  # WebSockets and lifespan events are not supported
            return
        headers: dict[bytes, bytes] = {}
        hosts = 0
        for name, value in scope["headers"]:
            headers[name] = value
            hosts += name == b"host"
        request_id = _request_id(headers)
        has_token = take_secret(scope, self._settings.token)
        refusal = self._refusal(scope["path"], headers, hosts, has_token=has_token)
        if refusal is not None:
            await self._refuse(refusal, request_id, send, scope)
            return
        if scope["path"] in self._free:
            await self._answer(scope, receive, send, request_id)
            return
        self._admitted += 1
        try:
            await self._answer(scope, self._slow_bodies.watch(receive), send, request_id)
        finally:
            self._admitted -= 1

    def _refusal(self, path: str, headers: Mapping[bytes, bytes], hosts: int, *, has_token: bool) -> OnymError | None:
        """Return the error if the request must be rejected, else None. The cheapest checks come first."""
        if hosts != 1 or (self._hosts and _host(headers[b"host"]) not in self._hosts):
            fix = "use the address that it listens on, or start it with --allow-host"
            return ConfigError("serve-host", "this service does not accept the Host header of the request", fix=fix)
        if path not in self._open and is_foreign(path, headers):
            fix = "use the service's own page, or a client other than a browser; pages of other origins may only use /reconcile"
            return ConfigError("serve-origin", "the request comes from a web page of another origin", fix=fix)
        if self._tokens and path not in self._open and not (has_token or self._has_token(headers)):
            fix = "put it into the path: /reconcile/TOKEN" if is_reconcile(path) else "send Authorization: Bearer TOKEN"
            return ConfigError("serve-token", "the token is missing or wrong", fix=fix)
        if path in self._free:
            return None
        return self._body_refusal(path, headers) or self._load_refusal(path)

    def _has_token(self, headers: Mapping[bytes, bytes]) -> bool:
        authorization = headers.get(b"authorization", b"")
        return sum(hmac.compare_digest(authorization, token) for token in self._tokens) > 0  # compare all: takes the same time

    def _body_refusal(self, path: str, headers: Mapping[bytes, bytes]) -> OnymError | None:
        size = headers.get(b"content-length", b"0")
        if not size.isdigit() or len(size) > _DIGITS:
            return InputError("request-malformed", "Content-Length is not a number, or is too large")
        if path.endswith(_STREAM):
            return None
        return too_large(self._settings.max_body) if int(size) > self._settings.max_body else None

    def _load_refusal(self, path: str) -> OnymError | None:
        is_full = self.in_flight >= self._settings.max_requests
        return overload_error() if is_full or self._load.estimate_wait(path) > self._settings.wait_limit else None

    async def _refuse(self, error: OnymError, request_id: bytes, send: Send, scope: Scope) -> None:
        self._watch.note_refusal(error.code)
        status = status_of(error)
        _log.debug("%s refused %d %s", request_id.decode(), status, error.code)  # debug level, because an overload refuses many
        wait = self._load.estimate_wait(scope["path"]) * random.uniform(0.8, 1.2)  # noqa: S311 - jitter, so that clients do not retry all at once
        headers = [*headers_of(error, max(1, round(wait))), (b"x-request-id", request_id)]
        headers += CORS if is_reconcile(scope["path"]) else []
        if error.code == "serve-body" or self._load.is_draining:
            headers.append((b"connection", b"close"))  # so that uvicorn does not read the rest of the body
        await send_error(send, error, status, headers)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, request_id: bytes) -> None:
        began, status = time.monotonic(), 0
        scope[ROUTE] = {}
        shared = CORS if is_reconcile(scope["path"]) else []

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*add_safe_headers(message["headers"]), (b"x-request-id", request_id), *shared]
                if self._load.is_draining:
                    message["headers"].append((b"connection", b"close"))
            async with asyncio.timeout(self._settings.timeout):  # because a client may never read the response
                await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except Exception as e:
            error = to_onym_error(e, caught_in=__file__)
            _log.error("%s failed: [%s] %s", request_id.decode(), error.code, error.what)
            if not status:
                status = status_of(error)
                await send_error(send, error, status, [(b"x-request-id", request_id)])
        seconds = time.monotonic() - began
        route = scope[ROUTE].get("route", "other")
        self._watch.request(route, status, seconds)
        if scope["path"] not in self._free:
            _log.info("%s %s %s %d %.1f ms", request_id.decode(), scope["method"], route, status, 1000 * seconds)


async def send_error(send: Send, error: OnymError, status: int, headers: Headers) -> None:
    """Send an error response."""
    body = body_of(error)
    fixed = [(b"content-type", JSON), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": add_safe_headers([*fixed, *headers])})
    await send({"type": "http.response.body", "body": body})


def _request_id(headers: Mapping[bytes, bytes]) -> bytes:
    """Return the client's X-Request-ID if it is valid, else a new id."""
    own = headers.get(b"x-request-id", b"")
    return own if own and _ID.fullmatch(own) else b"%032x" % random.getrandbits(128)


def _host(value: bytes) -> str:
    """Return the host name of a Host header, without the port.

    >>> _host(b"localhost:8080"), _host(b"[::1]:8080")
    ('localhost', '::1')
    """
    return _PORT.sub("", value.decode("latin-1")).strip("[]").lower()


def is_foreign(path: str, headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a web page of another origin sent the request. False for /reconcile, which all origins may use.

    Browsers send `Sec-Fetch-Site` over TLS and to localhost; it is checked first, because a proxy may have changed `Host`.
    Otherwise they send `Origin`, which must equal `Host`. Clients that are not browsers send neither header.

    >>> is_foreign("/v1/search", {b"host": b"localhost:8080", b"origin": b"http://evil.example"})
    True
    >>> is_foreign("/v1/link", {b"host": b"localhost:8080", b"origin": b"http://localhost:8080"})
    False
    """
    if is_reconcile(path):
        return False
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site not in _OWN
    origin = headers.get(b"origin")
    return origin is not None and origin.partition(b"://")[2].lower() != headers.get(b"host", b"").lower()


def is_reconcile(path: str) -> bool:
    """Return whether a path belongs to the reconciliation service.

    >>> is_reconcile("/reconcile/suggest/entity"), is_reconcile("/v1/link")
    (True, False)
    """
    return path.startswith(ROOT) and path[len(ROOT) : len(ROOT) + 1] in ("", "/")


def take_secret(scope: MutableMapping[str, Any], token: str) -> bool:
    """Remove the token from a request path, and return whether the path had it. Tokens are compared in constant time.

    >>> scope = {"path": "/reconcile/0123456789abcdef/preview"}
    >>> take_secret(scope, "0123456789abcdef"), scope["path"]
    (True, '/reconcile/preview')
    """
    path: str = scope["path"]
    if not token or not path.startswith(f"{ROOT}/"):
        return False
    rest = path[len(ROOT) + 1 :]
    secret, after = rest[: len(token)], rest[len(token) :]
    if not hmac.compare_digest(secret.encode("utf-8", "replace"), token.encode()) or after[:1] not in ("", "/"):
        return False
    scope["path"] = ROOT + after
    scope["raw_path"] = scope["path"].encode("utf-8", "replace")
    scope[UNLOCKED] = True
    return True


def note_route(scope: MutableMapping[str, Any], route: str) -> None:
    """Record the name of the route, for metrics and logs."""
    scope.get(ROUTE, {})["route"] = route
