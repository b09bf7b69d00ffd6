"""The application: the routes of all pipelines, health, metrics, and how an exception becomes an answer."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from onym._version import __version__
from onym.errors import ConfigError, OnymError, coded
from onym.serve.bodies import ClientGoneError
from onym.serve.lifecycle import Lifecycle
from onym.serve.metrics import CONTENT_TYPE, Metrics
from onym.serve.page import page_router
from onym.serve.pipelines import ServedPipeline
from onym.serve.reconcile.door import ROOT
from onym.serve.reconcile.routes import reconcile_router
from onym.serve.refusals import body_of, headers_of, status_of
from onym.serve.requests import malformed
from onym.serve.routes import note_route, router_of
from onym.serve.settings import ServeSettings

_CLIENT_GONE = 499  # as nginx logs it; nobody receives it
_ABOUT = "Biomedical entity linking: find concepts in text and map them to identifiers."


def build_app(pipelines: dict[str, ServedPipeline], settings: ServeSettings, metrics: Metrics, lifecycle: Lifecycle) -> FastAPI:
    """Return the application. The first pipeline answers at /v1 and /reconcile, each of several also under its NAME."""
    app = FastAPI(title="Onym", version=__version__, description=_ABOUT, docs_url=None, redoc_url=None)
    first = next(iter(pipelines.values()))
    app.include_router(router_of(first, settings, "/v1"))
    app.include_router(reconcile_router(first, settings, ROOT))
    for name, pipeline in pipelines.items():
        if len(pipelines) > 1:
            app.include_router(router_of(pipeline, settings, f"/v1/{name}"))
            app.include_router(reconcile_router(pipeline, settings, f"{ROOT}/{name}"))
    app.include_router(page_router())
    _add_health(app, pipelines, lifecycle)
    _add_handlers(app, metrics)

    @app.get("/metrics", include_in_schema=False)
    async def metrics_text(request: Request) -> Response:
        note_route(request, "/metrics")
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    return app


def _add_health(app: FastAPI, pipelines: dict[str, ServedPipeline], lifecycle: Lifecycle) -> None:
    @app.get("/live")
    async def live(request: Request) -> Response:
        """Say that the HTTP process answers."""
        note_route(request, "/live")
        return JSONResponse({"live": True})

    @app.get("/ready")
    async def ready(request: Request) -> Response:
        """Say whether requests should be sent here: all pipelines are open, and the service is not about to end."""
        note_route(request, "/ready")
        is_ready = not lifecycle.is_draining and all(each.is_ready for each in pipelines.values())
        return JSONResponse({"ready": is_ready, "draining": lifecycle.is_draining}, 200 if is_ready else 503)

    @app.get("/v1/pipelines")
    async def served(request: Request) -> Response:
        """Name the pipelines, with the release and the knowledge base of each."""
        note_route(request, "/v1/pipelines")
        return JSONResponse(
            {name: {**each.current.release, "linker_processes": len(each.current.pids)} for name, each in pipelines.items()}
        )


def _add_handlers(app: FastAPI, metrics: Metrics) -> None:
    """Answer exceptions with codes; none of them shows what a request holds."""

    @app.exception_handler(OnymError)
    async def refused(_: Request, error: OnymError) -> Response:
        headers = {name.decode(): value.decode() for name, value in headers_of(error)}
        return Response(body_of(error), status_of(error), headers, "application/json")

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return await refused(request, malformed(error.errors(), "the address"))

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        if error.status_code == 405:
            return await refused(request, ConfigError("serve-method", "this path has no such method", fix="see /openapi.json"))
        return await refused(request, ConfigError("serve-path", "there is nothing at this path", fix="see /openapi.json"))

    @app.exception_handler(ClientGoneError)
    async def gone(_: Request, __: ClientGoneError) -> Response:
        metrics.disconnected()
        return Response(status_code=_CLIENT_GONE)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        return await refused(request, coded(error))
