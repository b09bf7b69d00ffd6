"""A service from its settings to its end: pipelines, application, admission, listener, signals."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from onym.errors import ConfigError
from onym.serve.admission import Admission
from onym.serve.app import build_app
from onym.serve.connections import protocol_with
from onym.serve.lifecycle import Lifecycle
from onym.serve.metrics import Metrics
from onym.serve.pipelines import ServedPipeline
from onym.serve.pool import Linkers, Pool
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

        def make_pool(folder: Path, on_changed: Callable[[], None]) -> Pool:
            return Pool(folder, settings, self.metrics, linkers_of(folder), on_changed)

        self.pipelines = {name: ServedPipeline(name, folder, make_pool) for name, folder in settings.pipelines.items()}
        app = build_app(self.pipelines, settings, self.metrics, self.lifecycle)
        self.admission = Admission(app, settings, self, self.metrics, self.lifecycle)
        self.metrics.watch(self.pipelines, lambda: self.admission.in_flight)
        self._tasks: set[asyncio.Task[None]] = set()

    def expected_wait(self, path: str) -> float:
        """Return the seconds that a request to a path would wait."""
        parts = path.split("/", 3)
        named = self.pipelines.get(parts[2]) if len(parts) > 2 else None
        pipeline = named or next(iter(self.pipelines.values()))
        return pipeline.current.expected_wait if pipeline.is_ready else 0.0

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
    server = _Server(_config(service, settings))
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


class _Server(uvicorn.Server):
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
