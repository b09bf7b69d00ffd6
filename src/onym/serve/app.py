"""The FastAPI application: pipeline routes, web page, health checks, metrics and exception handlers.

FastAPI only uses the models of bodies and replies to generate the OpenAPI description. The endpoints read a body themselves,
within limits of size and time, and validate it; a reply consists of the bytes that the linker process wrote.

The lines of a stream (/link/batch) are answered in order, while further lines are read. Only a few lines are in flight at a
time, so a long stream needs little memory and does not starve other requests. One release answers all lines of a stream.

The page at `/` uses the routes under /v1 like any other client. Its files are read into memory at import.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from importlib.resources import files
from inspect import Parameter, Signature
from operator import getitem
from typing import Annotated, Any, NamedTuple, cast

from fastapi import APIRouter, Body, FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import Receive as StarletteReceive
from starlette.types import Scope, Send

from onym._version import __version__
from onym.errors import ConfigError, OnymError, to_onym_error
from onym.serve.admission import ROOT, Load, note_route
from onym.serve.bodies import (
    ClientGoneError,
    Receive,
    read_body,
    receive_message,
    require_media_type,
    too_large,
    wait_until_gone,
)
from onym.serve.jobs import Job
from onym.serve.metrics import CONTENT_TYPE, Metrics
from onym.serve.pool import LinkerPool, ServedPipeline, ask, seconds_until_deadline
from onym.serve.reconcile.routes import reconcile_router
from onym.serve.refusals import body_of, headers_of, overload_error, status_of, timeout_error, too_much_text
from onym.serve.routes import Reply, Route, all_routes, check, make_validation_error, parse
from onym.serve.routes import Request as Wanted
from onym.serve.routes.link import LinkRequest
from onym.serve.settings import ServeSettings

MEDIA_TYPE = "application/x-ndjson"
_WINDOW = 16  # maximum number of lines of a stream that are linked or wait for a linker at a time


class LinesResponse(Response):
    """Streaming response with one line for each line of the request body."""

    media_type = MEDIA_TYPE

    def __init__(self, pipeline: ServedPipeline, settings: ServeSettings) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._pipeline, self._settings = pipeline, settings

    async def __call__(self, scope: Scope, receive: StarletteReceive, send: Send) -> None:  # noqa: ARG002
        """Send one line per request line. Headers are sent with the first line: a client may first wait for `100 Continue`."""
        is_started = False
        with self._pipeline.current.use() as pool:
            release = (b"onym-release", pool.release["release"].encode())
            start = {"type": "http.response.start", "status": 200, "headers": [*self.raw_headers, release]}
            async with aclosing(answer_lines(receive, pool, self._settings)) as lines:
                async for line in lines:
                    if not is_started:
                        await send(start)
                        is_started = True
                    await send({"type": "http.response.body", "body": line, "more_body": True})
        if not is_started:
            await send(start)
        await send({"type": "http.response.body", "body": b""})


async def answer_lines(receive: Receive, pool: LinkerPool, settings: ServeSettings) -> AsyncGenerator[bytes, None]:
    """Yield the answer to each line of a body, in order. If a line fails, its answer is the error as JSON."""
    under_way: asyncio.Queue[Job | OnymError | None] = asyncio.Queue(_WINDOW)
    reading = asyncio.create_task(_read(receive, pool, settings, under_way))
    taken: Job | OnymError | None = None
    try:
        while True:
            taking = asyncio.ensure_future(under_way.get())
            await asyncio.wait((taking, reading), return_when=asyncio.FIRST_COMPLETED)
            if not taking.done():
                taking.cancel()
                return
            taken = taking.result()
            if taken is None:
                return
            body = body_of(taken) if isinstance(taken, OnymError) else await _answer_of(taken, reading)
            if reading.done():  # the client has disconnected
                return
            yield body + b"\n"
    finally:
        reading.cancel()
        rest = [taken, *(under_way.get_nowait() for _ in range(under_way.qsize()))]
        for job in rest:
            if isinstance(job, Job) and not job.reply.done():
                pool.queue.drop(job)


async def _answer_of(job: Job, reading: asyncio.Task[None]) -> bytes:
    """Return the reply to a job, or its error; stop waiting if the client disconnects."""
    await asyncio.wait((job.reply, reading), timeout=seconds_until_deadline(job), return_when=asyncio.FIRST_COMPLETED)
    try:
        return job.reply.result().body if job.reply.done() else body_of(timeout_error())
    except OnymError as e:
        return body_of(e)


async def _read(
    receive: Receive, pool: LinkerPool, settings: ServeSettings, under_way: asyncio.Queue[Job | OnymError | None]
) -> None:
    """Queue the lines of a body as jobs, and None after the last line; then wait until the client disconnects."""
    number = 0
    try:
        async for line in iter_lines(receive, settings):
            number += 1
            await under_way.put(_job(line, number, pool, settings))
    except ClientGoneError:
        return
    except OnymError as e:  # the body is too slow or a line too long: stop reading
        await under_way.put(e)
    await under_way.put(None)
    await wait_until_gone(receive)


def _job(line: bytes, number: int, pool: LinkerPool, settings: ServeSettings) -> Job | OnymError:
    try:
        wanted = parse(LinkRequest, line, f"line {number}")
        require_short(wanted, settings)
    except OnymError as e:
        return e
    return pool.put({"op": "link", **wanted.job()}, wanted.characters)


def require_short(wanted: Wanted, settings: ServeSettings) -> None:
    """Raise LimitError if a text is too long to link. Only link requests are checked; pydantic models limit the others."""
    if isinstance(wanted, LinkRequest) and wanted.characters > settings.max_text:
        raise too_much_text(wanted.characters, settings.max_text)


async def iter_lines(receive: Receive, settings: ServeSettings) -> AsyncIterator[bytes]:
    """Yield the non-blank lines of a body; each line may have up to `max_body` bytes."""
    rest, is_more = b"", True
    loop = asyncio.get_running_loop()
    while is_more:
        message = await receive_message(receive, loop.time() + settings.body_timeout)
        is_more = bool(message.get("more_body"))
        *lines, rest = (rest + message.get("body", b"")).split(b"\n")
        if not is_more:
            lines.append(rest)
        for line in lines:
            if len(line) > settings.max_body:
                raise too_large(settings.max_body)
            if line.strip():
                yield line
        if len(rest) > settings.max_body:
            raise too_large(settings.max_body)


Endpoint = Callable[..., Coroutine[Any, Any, Response]]

_JSON = "application/json"
_CLIENT_GONE = 499  # nginx's status for a disconnected client; only seen in logs
_ABOUT = "Biomedical entity linking: find concepts in text and map them to identifiers."
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The page may only load its own files and call its own service; inline scripts and form submissions are blocked."""
_PAGE_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_PAGE_HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "cache-control": "no-cache",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class ErrorFields(Reply):
    """A stable error code, what happened, where, and how to fix it."""

    code: str
    what: str
    where: str
    fix: str


class ErrorReply(Reply):
    """The reply to a request that failed. It never contains text of the request."""

    error: ErrorFields


_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorReply, "description": "The request is malformed."},
    401: {"model": ErrorReply, "description": "The token is missing or wrong."},
    413: {"model": ErrorReply, "description": "The body is too large."},
    422: {"model": ErrorReply, "description": "The text cannot be linked, or an option is invalid."},
    429: {
        "model": ErrorReply,
        "description": "The service is overloaded; Retry-After says when to retry.",
        "content": {_JSON: {"example": {"error": overload_error().as_dict()}}},
    },
    503: {"model": ErrorReply, "description": "The pipeline is still loading, or the linker process died."},
    504: {"model": ErrorReply, "description": "The request timed out."},
}


def build_app(pipelines: dict[str, ServedPipeline], settings: ServeSettings, metrics: Metrics, load: Load) -> FastAPI:
    """Build the application. The first pipeline is at /v1 and /reconcile. If there are several, each is also at /v1/NAME."""
    app = FastAPI(title="Onym", version=__version__, description=_ABOUT, docs_url=None, redoc_url=None)
    first = next(iter(pipelines.values()))
    app.include_router(pipeline_router(first, settings, "/v1"))
    app.include_router(reconcile_router(first, settings, ROOT))
    for name, pipeline in pipelines.items():
        if len(pipelines) > 1:
            app.include_router(pipeline_router(pipeline, settings, f"/v1/{name}"))
            app.include_router(reconcile_router(pipeline, settings, f"{ROOT}/{name}"))
    app.include_router(page_router())
    _add_health(app, pipelines, load)
    add_handlers(app, metrics.note_disconnect)

    @app.get("/metrics", include_in_schema=False)
    async def metrics_text(request: Request) -> Response:
        note_route(request.scope, "/metrics")
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    return app


class _BodyRoute(APIRoute):
    """A route whose endpoint reads the body itself. FastAPI uses the model only for the OpenAPI description."""

    def get_route_handler(self) -> Endpoint:
        return self.endpoint


class _Endpoint:
    """The endpoint of a route for one pipeline. `prefix` is the start of its path, such as /v1."""

    def __init__(self, route: Route, pipeline: ServedPipeline, settings: ServeSettings, prefix: str) -> None:
        self._route, self._pipeline, self._settings = route, pipeline, settings
        self._label = prefix + route.label

    async def post(self, request: Request) -> Response:
        """Read and validate the body, and answer the request."""
        note_route(request.scope, self._label)
        require_media_type(request, _JSON)
        self._pipeline.current  # noqa: B018 - raises before the body is read if the pipeline is not open
        body = await read_body(request.receive, self._settings.max_body, self._settings.body_timeout)
        return await self._answer(parse(self._route.takes, body), request)

    async def get(self, request: Request, **values: Any) -> Response:
        """Answer a request whose values are in the URL, which FastAPI has parsed."""
        note_route(request.scope, self._label)
        return await self._answer(check(self._route.takes, values, "the address"), request)

    async def _answer(self, wanted: Wanted, request: Request) -> Response:
        require_short(wanted, self._settings)
        with self._pipeline.current.use() as pool:
            reply = await ask(pool, {"op": self._route.op, **wanted.job()}, wanted.characters, request.receive)
        return Response(reply.body, reply.status, {"onym-release": reply.release}, _JSON)


def pipeline_router(pipeline: ServedPipeline, settings: ServeSettings, prefix: str) -> APIRouter:
    """Return the routes of a pipeline under a path prefix."""
    router = APIRouter(prefix=prefix, responses=_ERRORS)
    for route in all_routes():
        _add_route(router, route, _Endpoint(route, pipeline, settings, prefix))
    _add_lines(router, pipeline, settings, prefix)
    return router


def _add_route(router: APIRouter, route: Route, answers: _Endpoint) -> None:
    is_post = route.method == "POST"
    router.add_api_route(
        route.path,
        _describe_endpoint(answers.post, _body(route.takes))
        if is_post
        else _describe_endpoint(answers.get, *_parameters(route)),
        methods=[route.method],
        name=route.name or route.op,
        description=route.description,
        response_model=route.replies,
        responses=_responses(route),
        route_class_override=_BodyRoute if is_post else APIRoute,
    )


def _add_lines(router: APIRouter, pipeline: ServedPipeline, settings: ServeSettings, prefix: str) -> None:
    async def link_batch(request: Request) -> Response:
        note_route(request.scope, f"{prefix}/link/batch")
        require_media_type(request, MEDIA_TYPE)
        pipeline.current  # noqa: B018 - raises if the pipeline is not open
        return LinesResponse(pipeline, settings)

    router.add_api_route(
        "/link/batch",
        _describe_endpoint(link_batch, _body(LinkRequest, MEDIA_TYPE)),
        methods=["POST"],
        name=link_batch.__name__,
        description="Link many texts. Each line is a request as for /link; the response has one line per request, in order.",
        responses={200: {"content": {MEDIA_TYPE: {}}}},
        route_class_override=_BodyRoute,
    )


def _describe_endpoint(act: Endpoint, *parameters: Parameter) -> Endpoint:
    """Return an endpoint with the signature that FastAPI needs to describe its parameters."""

    async def endpoint(request: Request, **values: Any) -> Response:
        return await act(request, **values)

    request = Parameter("request", Parameter.KEYWORD_ONLY, annotation=Request)
    endpoint.__signature__ = Signature([request, *parameters], return_annotation=Response)  # type: ignore[attr-defined]
    return endpoint


def _body(kind: type[Wanted], media_type: str = _JSON) -> Parameter:
    examples: Sequence[Any] = kind.model_json_schema().get("examples", ())
    named = {f"example {number}": {"value": value} for number, value in enumerate(examples, 1)}
    annotation = _annotate(kind, Body(media_type=media_type, openapi_examples=named))  # type: ignore[arg-type]
    return Parameter("body", Parameter.KEYWORD_ONLY, annotation=annotation)


def _parameters(route: Route) -> list[Parameter]:
    """Return the path and query parameters of a route."""
    found = []
    for name, field in route.takes.model_fields.items():
        where = (Path if f"{{{name}" in route.path else Query)(description=field.description)
        annotation = _annotate(field.annotation, *field.metadata, where)
        default = Parameter.empty if field.is_required() else field.default
        found.append(Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default))
    return found


def _annotate(*parts: Any) -> Any:
    """Return `Annotated[*parts]`; type checkers reject that syntax for a type that is only known at run time."""
    return getitem(cast("Any", Annotated), parts)


def _responses(route: Route) -> dict[int | str, dict[str, Any]]:
    found: dict[int | str, dict[str, Any]] = {404: {"model": ErrorReply}} if "{" in route.path else {}
    return found | ({200: {"content": {_JSON: {"example": route.example}}}} if route.example else {})


def _add_health(app: FastAPI, pipelines: dict[str, ServedPipeline], load: Load) -> None:
    @app.get("/live")
    async def live(request: Request) -> Response:
        """Return 200 if the HTTP process is alive."""
        note_route(request.scope, "/live")
        return JSONResponse({"live": True})

    @app.get("/ready")
    async def ready(request: Request) -> Response:
        """Return 200 if all pipelines are open and the service is not shutting down, else 503."""
        note_route(request.scope, "/ready")
        is_ready = not load.is_draining and all(each.is_ready for each in pipelines.values())
        return JSONResponse({"ready": is_ready, "draining": load.is_draining}, 200 if is_ready else 503)

    @app.get("/v1/pipelines")
    async def served(request: Request) -> Response:
        """List the pipelines with their release, knowledge base and number of linker processes."""
        note_route(request.scope, "/v1/pipelines")
        return JSONResponse(
            {name: {**each.current.release, "linker_processes": len(each.current.pids)} for name, each in pipelines.items()}
        )


def add_handlers(app: FastAPI, note_disconnect: Callable[[], None]) -> None:
    """Add exception handlers that return error codes, without values of the request."""

    @app.exception_handler(OnymError)
    async def answer_error(_: Request, error: OnymError) -> Response:
        headers = {name.decode(): value.decode() for name, value in headers_of(error)}
        return Response(body_of(error), status_of(error), headers, "application/json")

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return await answer_error(request, make_validation_error(error.errors(), "the address"))

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        if error.status_code == 405:
            return await answer_error(
                request, ConfigError("serve-method", "this path does not support the method", fix="see /openapi.json")
            )
        return await answer_error(request, ConfigError("serve-path", "no such path", fix="see /openapi.json"))

    @app.exception_handler(ClientGoneError)
    async def answer_gone(_: Request, __: ClientGoneError) -> Response:
        note_disconnect()
        return Response(status_code=_CLIENT_GONE)

    @app.exception_handler(Exception)
    async def answer_failure(request: Request, error: Exception) -> Response:
        return await answer_error(request, to_onym_error(error))


class PageFile(NamedTuple):
    """The content and media type of a file of the page."""

    content: bytes
    media_type: str


def read_page(folder: str) -> dict[str, PageFile]:
    """Return the files of a page by URL path."""
    found = {}
    for file in files("onym.serve").joinpath(folder).iterdir():
        media_type = _PAGE_TYPES.get(f".{file.name.rpartition('.')[2]}")
        if media_type:
            path = "/" if file.name == "index.html" else f"/page/{file.name}"
            found[path] = PageFile(file.read_bytes(), f"{media_type}; charset=utf-8")
    return found


PAGE_FILES = read_page("static")
"""The files of the page by URL path."""


def page_router(page: Mapping[str, PageFile] = PAGE_FILES) -> APIRouter:
    """Return the routes of a page's files."""
    router = APIRouter(include_in_schema=False)

    async def page_file(request: Request) -> Response:
        note_route(request.scope, "/")
        file = page[request.scope["path"]]
        return Response(file.content, headers=_PAGE_HEADERS, media_type=file.media_type)

    for path in page:
        router.add_api_route(path, page_file, methods=["GET", "HEAD"])
    return router
