"""Runs a service: opens pipelines, listens, handles signals, limits connections and shuts down.

On shutdown, /ready returns 503 first, so that load balancers stop sending requests; then the service stops listening and
finishes the requests in flight. This module also limits the number of connections, and the time and size of request
headers, because uvicorn has none of these limits.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from onym.errors import ConfigError
from onym.serve.admission import Admission
from onym.serve.app import PAGE_FILES, build_app
from onym.serve.metrics import Metrics
from onym.serve.pool import LinkerPool, Linkers, ServedPipeline
from onym.serve.process import Processes
from onym.serve.settings import ServeSettings

_log = logging.getLogger("onym.serve")
_BACKLOG = 2_048
_MAX_HEAD = 65_536  # bytes of request line and headers, which arrive before the token can be checked
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
MakeLinkers = Callable[[Path], Linkers]
"""Creates the linkers for a release of the pipeline in a folder."""


class Service:
    """All components of a service except the listener. Must be created in an event loop."""

    def __init__(self, settings: ServeSettings, linkers_of: MakeLinkers) -> None:
        self.metrics = Metrics()
        self.lifecycle = Lifecycle(settings.drain_delay)

        def make_pool(folder: Path, on_changed: Callable[[], None]) -> LinkerPool:
            return LinkerPool(folder, settings, self.metrics, linkers_of(folder), on_changed)

        self.pipelines = {name: ServedPipeline(name, folder, make_pool) for name, folder in settings.pipelines.items()}
        app = build_app(self.pipelines, settings, self.metrics, self)
        self.admission = Admission(app, settings, self, self.metrics, PAGE_FILES)
        self.metrics.watch(self.pipelines, lambda: self.admission.in_flight)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_draining(self) -> bool:
        """True if the service is shutting down."""
        return self.lifecycle.is_draining

    def estimate_wait(self, path: str) -> float:
        """Return the expected queueing time of a request to a path, in seconds."""
        parts = path.split("/", 3)
        named = self.pipelines.get(parts[2]) if len(parts) > 2 else None
        pipeline = named or next(iter(self.pipelines.values()))
        return pipeline.current.seconds_until_start if pipeline.is_ready else 0.0

    async def open(self) -> None:
        """Open all pipelines, one after another."""
        for pipeline in self.pipelines.values():
            await pipeline.open()

    def schedule_reload(self) -> None:
        """Reload all pipelines in the background, while the old releases keep answering."""
        task = asyncio.get_running_loop().create_task(self._reload())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reload(self) -> None:
        for pipeline in self.pipelines.values():
            self.metrics.reload(is_done=await pipeline.reload())

    async def close(self) -> None:
        """End all linker processes."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*(pipeline.close() for pipeline in self.pipelines.values()))


def run_service(settings: ServeSettings) -> None:
    """Serve until a signal stops the service."""
    listener = listening(settings.host, settings.port)
    try:
        with engine_of(settings) as linkers_of:
            asyncio.run(_serve(settings, listener, lambda: Service(settings, linkers_of)))
    finally:
        listener.close()


@contextmanager
def engine_of(settings: ServeSettings) -> Iterator[MakeLinkers]:
    """Yield a function that creates linkers: local processes, or replicas in a Ray cluster.

    A connection opened here is closed at the end of the with block.
    """
    if settings.engine != "ray":
        yield lambda _: Processes(settings.workers)
        return
    from onym.serve.on_ray import serving

    with serving(settings) as replicas_of:
        yield replicas_of


class Served(Protocol):
    """What a server runs: an application behind admission, with a state that is opened and closed."""

    admission: Admission
    lifecycle: Lifecycle

    async def open(self) -> None:
        """Open the state, while the server already listens."""

    async def close(self) -> None:
        """Close the state."""

    def schedule_reload(self) -> None:
        """Reload the state in the background."""


def serve_one(settings: ServeSettings, make_service: Callable[[], Served]) -> None:
    """Serve until a signal stops the service, which is made in the event loop."""
    listener = listening(settings.host, settings.port)
    try:
        asyncio.run(_serve(settings, listener, make_service))
    finally:
        listener.close()


async def _serve(settings: ServeSettings, listener: socket.socket, make_service: Callable[[], Served]) -> None:
    service = make_service()
    server = _StoppableServer(_config(service, settings))
    service.lifecycle.stop = server.stop
    scheme, (host, port, *_) = "https" if settings.tls_cert else "http", listener.getsockname()
    _log.info("listening on %s://%s:%d", scheme, f"[{host}]" if ":" in host else host, port)
    with service.lifecycle.on_signals(service.schedule_reload):
        opening = asyncio.create_task(service.open())
        opening.add_done_callback(server.stop_if_failed)
        try:
            await server.serve([listener])
        finally:
            opening.cancel()
            (error,) = await asyncio.gather(opening, return_exceptions=True)
            await service.close()
    if isinstance(error, Exception):
        raise error


def _config(service: Served, settings: ServeSettings) -> uvicorn.Config:
    return uvicorn.Config(
        service.admission,
        http=protocol_with(settings.body_timeout, settings.max_connections),
        log_config=None,
        access_log=False,  # because it would log query strings, which may contain request text
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        interface="asgi3",
        timeout_keep_alive=settings.keep_alive,
        timeout_graceful_shutdown=int(settings.timeout + settings.body_timeout) + 1,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
        backlog=_BACKLOG,
    )


class _StoppableServer(uvicorn.Server):
    """uvicorn without its signal handlers, which stop listening at once, when load balancers still send requests."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        self.should_exit = True

    def stop_if_failed(self, opening: asyncio.Task[None]) -> None:
        if not opening.cancelled() and opening.exception() is not None:
            self.stop()


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise ConfigError if the address cannot be bound."""
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)  # `protocol` must be set, or asyncio does not set TCP_NODELAY
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)  # from now on, the system queues new connections
    except OSError as e:
        if listener is not None:
            listener.close()
        what = f"cannot listen on this address: {e.strerror}"
        raise ConfigError("serve-address", what, where=f"{host}:{port}", fix="choose another --port or --host") from e
    return listener


class Lifecycle:
    """The shutdown state of a service. `stop` is called when it should stop listening."""

    def __init__(self, drain_delay: float, stop: Callable[[], None] = lambda: None) -> None:
        self._drain_delay, self.stop = drain_delay, stop
        self.is_draining = False
        self._draining: asyncio.Task[None] | None = None

    def drain(self) -> None:
        """Make /ready return 503 and close connections after each response; stop after the drain delay."""
        if self._draining is None:
            _log.info("draining: no longer ready, still listening for %g s", self._drain_delay)
            self.is_draining = True
            self._draining = asyncio.create_task(self._stop_later())

    def stop_now(self) -> None:
        """Stop listening at once; requests in flight are finished."""
        self.is_draining = True
        self.stop()

    @contextmanager
    def on_signals(self, reload: Callable[[], None]) -> Iterator[None]:
        """Within the block, drain on SIGTERM, stop on SIGINT and reload on SIGHUP."""
        loop = asyncio.get_running_loop()
        acts = {signal.SIGTERM: self.drain, signal.SIGINT: self.stop_now, signal.SIGHUP: reload}
        for number, act in acts.items():
            loop.add_signal_handler(number, act)
        try:
            yield
        finally:
            for number in acts:
                loop.remove_signal_handler(number)
            if self._draining is not None:
                self._draining.cancel()

    async def _stop_later(self) -> None:
        await asyncio.sleep(self._drain_delay)
        self.stop()


class Connections:
    """The open connections of a service. When the limit is reached, the longest-idle connection is closed."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._all: set[Any] = set()
        self._waiting: dict[Any, asyncio.TimerHandle] = {}  # timeout of each idle connection, longest-idle first

    def enter(self, connection: Any) -> None:
        """Add a connection. At the limit, close the longest-idle connection, or the new one if none is idle."""
        if len(self._all) >= self._maximum:
            idle = next(iter(self._waiting), connection)
            idle.transport.abort()
            self.leave(idle)
        self._all.add(connection)

    def leave(self, connection: Any) -> None:
        """Remove a closed connection."""
        self.wait_no_more(connection)
        self._all.discard(connection)

    def wait(self, connection: Any, seconds: float) -> None:
        """Close a connection if no request headers arrive within `seconds`. A timeout that is already running is kept."""
        if connection not in self._waiting:
            self._waiting[connection] = connection.loop.call_later(seconds, connection.transport.close)

    def wait_no_more(self, connection: Any) -> None:
        """Cancel the timeout of a connection whose request headers have arrived."""
        if timer := self._waiting.pop(connection, None):
            timer.cancel()


def protocol_with(head_timeout: float, max_connections: int) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol with a connection limit, and a timeout and a size limit for request headers.

    The headers of the first request must arrive within `head_timeout` seconds, those of later requests within the keep-alive
    time, because after a rejected request, the unread rest of its body looks like the start of new headers.
    """
    connections = Connections(max_connections)

    class Guarded(AutoHTTPProtocol):  # type: ignore[valid-type,misc]
        _head = -1  # bytes of the headers that are arriving, or -1; h11 has its own limit and does not call the hooks

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            connections.enter(self)
            connections.wait(self, head_timeout)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._head = 0

        def on_headers_complete(self) -> None:
            self._head = -1
            super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._head >= 0 and not self.transport.is_closing():
                self._head += len(data)
                if self._head > _MAX_HEAD:
                    self.transport.write(_HEAD_TOO_LARGE)
                    self.transport.close()
                    return
            if self.cycle is not None and not self.cycle.response_complete:
                connections.wait_no_more(self)
            else:
                connections.wait(self, self.timeout_keep_alive)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.cycle.response_complete and not self.transport.is_closing():  # idle: no further request is pipelined
                connections.wait(self, self.timeout_keep_alive)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.leave(self)
            super().connection_lost(exc)

    found: Any = Guarded
    return found  # type: ignore[no-any-return]
