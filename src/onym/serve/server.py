"""A service from its settings to its end: pipelines, application, admission, listener, signals, connections.

A service that ends says so first, waits until it is asked no more, then stops listening and finishes what it has. Connections
do not wait for ever, and there are not too many of them: uvicorn has no limit of time for the head of a request, and takes
connections until the system has no file left for another one.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
MakeLinkers = Callable[[Path], Linkers]
"""What makes the linkers of a release of the pipeline in a folder."""


class Service:
    """Everything that answers, without a listener. It is made inside of an event loop."""

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
        """True where the service is about to end."""
        return self.lifecycle.is_draining

    def estimate_wait(self, path: str) -> float:
        """Return the seconds that a request to a path would wait."""
        parts = path.split("/", 3)
        named = self.pipelines.get(parts[2]) if len(parts) > 2 else None
        pipeline = named or next(iter(self.pipelines.values()))
        return pipeline.current.seconds_until_start if pipeline.is_ready else 0.0

    async def open(self) -> None:
        """Open all pipelines, one after the other."""
        for pipeline in self.pipelines.values():
            await pipeline.open()

    def schedule_reload(self) -> None:
        """Open all pipelines anew, while the old ones answer."""
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
    """Serve until a signal ends it."""
    listener = listening(settings.host, settings.port)
    try:
        with engine_of(settings) as linkers_of:
            asyncio.run(_serve(settings, listener, linkers_of))
    finally:
        listener.close()


@contextmanager
def engine_of(settings: ServeSettings) -> Iterator[MakeLinkers]:
    """Give what starts linkers: processes of this machine, or replicas of a Ray cluster, which is connected meanwhile."""
    if settings.engine != "ray":
        yield lambda _: Processes(settings.workers)
        return
    from onym.serve.on_ray import serving

    with serving(settings) as replicas_of:
        yield replicas_of


async def _serve(settings: ServeSettings, listener: socket.socket, linkers_of: MakeLinkers) -> None:
    service = Service(settings, linkers_of)
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


def _config(service: Service, settings: ServeSettings) -> uvicorn.Config:
    return uvicorn.Config(
        service.admission,
        http=protocol_with(settings.body_timeout, settings.max_connections),
        log_config=None,
        access_log=False,  # it would log what is searched for
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
    """uvicorn without its signal handlers: it would stop listening at once, before anybody knows."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        self.should_exit = True

    def stop_if_failed(self, opening: asyncio.Task[None]) -> None:
        if not opening.cancelled() and opening.exception() is not None:
            self.stop()


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; an address that cannot be had is an error."""
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)  # with its protocol: else asyncio does not switch Nagle's delay off
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)  # from now on who connects waits, and is not turned away
    except OSError as e:
        if listener is not None:
            listener.close()
        what = f"the service cannot listen there: {e.strerror}"
        raise ConfigError("serve-address", what, where=f"{host}:{port}", fix="choose another --port or --host") from e
    return listener


class Lifecycle:
    """Whether a service is about to end. `stop` is called when it should no longer listen."""

    def __init__(self, drain_delay: float, stop: Callable[[], None] = lambda: None) -> None:
        self._drain_delay, self.stop = drain_delay, stop
        self.is_draining = False
        self._draining: asyncio.Task[None] | None = None

    def drain(self) -> None:
        """Be not ready from now on; stop after the delay, in which balancers notice it. Answers end their connections."""
        if self._draining is None:
            _log.info("draining: not ready any more, listening for %g s", self._drain_delay)
            self.is_draining = True
            self._draining = asyncio.create_task(self._stop_later())

    def stop_now(self) -> None:
        """Stop without a delay; what was begun is finished."""
        self.is_draining = True
        self.stop()

    @contextmanager
    def on_signals(self, reload: Callable[[], None]) -> Iterator[None]:
        """Drain on SIGTERM, stop on SIGINT, reload on SIGHUP, while the block runs."""
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
    """The connections of a service. Where there are as many as may be, a new one takes the room of one that is idle."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._all: set[Any] = set()
        self._waiting: dict[Any, asyncio.TimerHandle] = {}  # for a head, those that wait for longest first

    def enter(self, connection: Any) -> None:
        """Take a new one; where no other can end, it ends at once."""
        if len(self._all) >= self._maximum:
            idle = next(iter(self._waiting), connection)
            idle.transport.abort()
            self.leave(idle)
        self._all.add(connection)

    def leave(self, connection: Any) -> None:
        """Forget one that ended."""
        self.wait_no_more(connection)
        self._all.discard(connection)

    def wait(self, connection: Any, seconds: float) -> None:
        """Let a connection end if no head of a request arrives in time; one that waits already waits no longer than that."""
        if connection not in self._waiting:
            self._waiting[connection] = connection.loop.call_later(seconds, connection.transport.close)

    def wait_no_more(self, connection: Any) -> None:
        """Hear that the head of a request has arrived."""
        if timer := self._waiting.pop(connection, None):
            timer.cancel()


def protocol_with(head_timeout: float, max_connections: int) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol, with connections that end where the head of a request does not arrive in time.

    The first head has `head_timeout` seconds. A later one has as long as an idle connection is kept: after a refusal, what is
    left of a body that nobody reads looks like the beginning of a head.
    """
    connections = Connections(max_connections)

    class Guarded(AutoHTTPProtocol):  # type: ignore[valid-type,misc]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            connections.enter(self)
            connections.wait(self, head_timeout)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                connections.wait_no_more(self)
            else:
                connections.wait(self, self.timeout_keep_alive)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.cycle.response_complete and not self.transport.is_closing():  # no other request came meanwhile
                connections.wait(self, self.timeout_keep_alive)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.leave(self)
            super().connection_lost(exc)

    found: Any = Guarded
    return found  # type: ignore[no-any-return]
