"""HTTP routes of the reconciliation service, and the models of its requests. Unknown keys are ignored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from starlette.datastructures import QueryParams

from onym.errors import ConfigError, InputError, UnknownConceptError
from onym.serve.admission import ROOT, UNLOCKED, note_route
from onym.serve.bodies import read_body, require_media_type
from onym.serve.jobs import JobReply
from onym.serve.pool import ServedPipeline, ask
from onym.serve.reconcile.concepts import HEADERS, PROPERTIES, card
from onym.serve.routes import MAX_HITS, MAX_TERM, MAX_TERMS, MAX_TYPES, PER_SURFACE, make_validation_error, read_json
from onym.serve.routes import Request as Wanted
from onym.serve.settings import DEFAULT, ServeSettings

MAX_CONTEXT = 2_000
"""Maximum characters of property values that are used as context."""
MAX_PROPERTIES = 64
T = TypeVar("T")


class Tolerant(Wanted):
    """Base class of requests. Unknown keys are ignored, as the Reconciliation API requires."""

    model_config = ConfigDict(extra="ignore")


class PropertyValue(Tolerant):
    """The values of another column: strings, numbers, booleans or entities."""

    pid: str
    v: Any = None

    def texts(self) -> Iterator[str]:
        """Yield the values as strings. An entity is represented by its name."""
        for value in self.v if isinstance(self.v, list) else [self.v]:
            shown = value.get("name") if isinstance(value, dict) else value
            if isinstance(shown, str | int | float):
                yield str(shown)


class ReconcileQuery(Tolerant):
    """A query for one value to match.

    >>> ReconcileQuery(query="MI", properties=[PropertyValue(pid="note", v="a heart attack (MI)")]).context
    'a heart attack (MI)'
    """

    query: str | None = None
    type: str | list[str] | None = None
    type_strict: Literal["any", "all", "should"] | None = None
    limit: Annotated[float, Field(ge=0)] | None = None
    properties: Annotated[list[PropertyValue], Field(max_length=MAX_PROPERTIES)] | None = None

    @property
    def types(self) -> list[str]:
        """The required semantic groups or types; empty if `type_strict` is "should"."""
        wanted = [] if self.type is None or self.type_strict == "should" else self.type
        return [each for each in ([wanted] if isinstance(wanted, str) else wanted) if each][:MAX_TYPES]

    @property
    def context(self) -> str:
        """The values of the other columns, joined into one text."""
        texts = (text.strip() for each in self.properties or () for text in each.texts())
        return "; ".join(filter(None, texts))[:MAX_CONTEXT]

    def job(self) -> dict[str, Any]:
        """Return the query for the linker process. If it is too long, its text is left empty, so that it gets no candidates."""
        text = (self.query or "").strip()
        return {
            "text": text if len(text) <= MAX_TERM else "",
            "types": self.types,
            "is_all": self.type_strict == "all",
            "limit": None if self.limit is None else int(min(self.limit, MAX_TERMS)),
            "context": self.context,
        }


class WantedProperty(Tolerant):
    """A requested property, with settings."""

    id: str
    settings: dict[str, Any] | None = None


class ExtendQuery(Tolerant):
    """A data extension request: the values of properties for entities."""

    ids: list[str] = Field(max_length=MAX_TERMS)
    properties: list[WantedProperty] = Field(max_length=MAX_PROPERTIES)


_QUERIES: TypeAdapter[dict[str, ReconcileQuery]] = TypeAdapter(
    Annotated[dict[str, ReconcileQuery], Field(max_length=MAX_TERMS)]
)
_EXTEND: TypeAdapter[ExtendQuery] = TypeAdapter(ExtendQuery)


def parse_queries(text: str) -> dict[str, ReconcileQuery]:
    """Parse a batch of queries by key.

    >>> parse_queries('{"q0": {"query": "Fever"}}')["q0"].query
    'Fever'
    """
    return _parse(_QUERIES, text, "queries")


def parse_extend(text: str) -> ExtendQuery:
    """Parse a data extension request.

    >>> parse_extend('{"ids": ["MESH:D005334"], "properties": [{"id": "synonyms"}]}').properties[0].id
    'synonyms'
    """
    return _parse(_EXTEND, text, "extend")


def characters_of(queries: Mapping[str, ReconcileQuery]) -> int:
    """Return the cost of queries, in characters of raw text."""
    return sum(PER_SURFACE + len(each.query or "") + len(each.context) for each in queries.values())


def _parse(adapter: TypeAdapter[T], text: str, where: str) -> T:
    """Parse and validate JSON; errors leave out the keys of the batch, which may be user text."""
    values = read_json(text.encode("utf-8", "replace"), where)
    try:
        return adapter.validate_python(values)
    except ValidationError as e:
        errors = e.errors(include_url=False, include_input=False, include_context=False)
        first = errors[0] | {"loc": tuple(part for part in errors[0]["loc"] if part in _NAMES or isinstance(part, int))}
        raise make_validation_error([first], where) from None


_NAMES = frozenset({*ReconcileQuery.model_fields, *PropertyValue.model_fields, *ExtendQuery.model_fields, "settings"})


FORM = "application/x-www-form-urlencoded"
_JSON = "application/json"
_MAX_FIELDS = 32
_HITS = 10
_PER_CONCEPT = 10  # cost of looking up a concept, as the number of text characters that take the same time to link
_SAFE = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",  # so that cross-origin isolated pages can embed previews
}
_PREFLIGHT = {
    "access-control-allow-methods": "GET, POST, OPTIONS",
    "access-control-allow-headers": "Content-Type",
    "access-control-max-age": "86400",
}
Text = Annotated[str, Query(max_length=MAX_TERM)]
Kind = Annotated[str, Query(alias="type", max_length=MAX_TERM)]
Id = Annotated[str, Query(alias="id", max_length=MAX_TERM)]
Count = Annotated[int, Query(ge=0, le=10_000)]
Limit = Annotated[int | None, Query(ge=0, le=MAX_HITS)]


class Reconciliation:
    """Endpoints of the reconciliation service of one pipeline. `prefix` is the start of their paths."""

    def __init__(self, pipeline: ServedPipeline, settings: ServeSettings, prefix: str) -> None:
        self._pipeline, self._settings, self._prefix = pipeline, settings, prefix

    async def manifest_or_queries(self, request: Request) -> Response:
        """Answer the queries in the query string. Without queries, return the service manifest."""
        note_route(request.scope, self._prefix)
        if {"queries", "extend"} & set(request.query_params):
            return await self._answer_fields(request.query_params, request)
        name = "Onym" if self._pipeline.name == DEFAULT else f"Onym {self._pipeline.name}"
        base = base_of(request, self._settings, self._prefix)
        job = {"op": "manifest", "base": base, "name": name, "precision": self._settings.match_precision}
        return await self._answer(job, 1, request)

    async def form(self, request: Request) -> Response:
        """Answer queries in a form body."""
        note_route(request.scope, self._prefix)
        require_media_type(request, FORM)
        self._pipeline.current  # noqa: B018 - raises before the body is read if the pipeline is not open
        body = await read_body(request.receive, self._settings.max_body, self._settings.body_timeout)
        return await self._answer_fields(fields_of(body), request)

    async def suggest(self, request: Request, kind: str, prefix: Text = "", cursor: Count = 0) -> Response:
        """Suggest entities, types or properties for a prefix."""
        note_route(request.scope, f"{self._prefix}/suggest")
        if kind not in ("entity", "type", "property"):
            raise ConfigError("serve-path", "no such path", fix="use /suggest/entity, /suggest/type or /suggest/property")
        job = {"op": "suggest", "kind": kind, "prefix": prefix, "limit": _HITS, "skip": cursor}
        return await self._answer(job, len(prefix), request)

    async def propose(self, request: Request, kind: Kind = "", limit: Limit = None) -> Response:
        """List the properties for data extension."""
        note_route(request.scope, f"{self._prefix}/extend/propose")
        return await self._answer({"op": "propose", "kind": kind, "limit": limit}, 1, request)

    async def preview(self, request: Request, concept_id: Id) -> Response:
        """Return the HTML card of a concept."""
        note_route(request.scope, f"{self._prefix}/preview")
        job = {"op": "extend", "ids": [concept_id], "properties": [{"id": key} for key in PROPERTIES]}
        reply = await self._reply(job, 1, request)
        if reply.status != 200:
            return Response(reply.body, reply.status, _SAFE, _JSON)
        values = json.loads(reply.body)["rows"][concept_id]
        if not values["name"]:
            raise UnknownConceptError("concept-unknown", "no concept has this id")
        return Response(card(concept_id, values), 200, {**_SAFE, **HEADERS}, "text/html; charset=utf-8")

    async def preflight(self, request: Request) -> Response:
        """Answer a CORS preflight request: pages of all origins may send queries."""
        note_route(request.scope, self._prefix)
        return Response(None, 204, _PREFLIGHT)

    async def _answer_fields(self, fields: QueryParams, request: Request) -> Response:
        """Answer a batch of queries or a data extension request."""
        if "queries" in fields:
            queries = parse_queries(fields["queries"])
            jobs = {key: query.job() for key, query in queries.items()}
            job = {"op": "reconcile", "queries": jobs, "precision": self._settings.match_precision}
            return await self._answer(job, characters_of(queries), request)
        if "extend" in fields:
            wanted = parse_extend(fields["extend"])
            return await self._answer({"op": "extend", **wanted.model_dump()}, _PER_CONCEPT * len(wanted.ids), request)
        raise InputError("request-malformed", "neither queries nor extend is given", where="the form")

    async def _answer(self, content: dict[str, Any], characters: int, request: Request) -> Response:
        reply = await self._reply(content, characters, request)
        return Response(reply.body, reply.status, {"onym-release": reply.release, **_SAFE}, _JSON)

    async def _reply(self, content: dict[str, Any], characters: int, request: Request) -> JobReply:
        with self._pipeline.current.use() as pool:
            return await ask(pool, content, characters, request.receive)


def reconcile_router(pipeline: ServedPipeline, settings: ServeSettings, prefix: str) -> APIRouter:
    """Return the reconciliation routes of a pipeline under `prefix`: /reconcile or /reconcile/NAME."""
    router, answers = APIRouter(prefix=prefix, include_in_schema=False), Reconciliation(pipeline, settings, prefix)
    gets: dict[str, Callable[..., Any]] = {
        "": answers.manifest_or_queries,
        "/": answers.manifest_or_queries,
        "/suggest/{kind}": answers.suggest,
        "/extend/propose": answers.propose,
        "/preview": answers.preview,
    }
    for path, get in gets.items():
        router.add_api_route(path, get, methods=["GET"])
        router.add_api_route(path, answers.preflight, methods=["OPTIONS"])
    for path in ("", "/"):
        router.add_api_route(path, answers.form, methods=["POST"])
    return router


def base_of(request: Request, settings: ServeSettings, prefix: str) -> str:
    """Return the service's URL as the client sees it, with the token if the client sent it in the path."""
    origin = settings.public_url.rstrip("/") or f"{request.url.scheme}://{request.headers['host']}"
    secret = f"/{quote(settings.token, safe='')}" if request.scope.get(UNLOCKED) else ""
    return f"{origin}{ROOT}{secret}{prefix.removeprefix(ROOT)}"


def fields_of(body: bytes) -> QueryParams:
    """Parse the fields of a URL-encoded form.

    >>> fields_of(b"queries=%7B%7D")["queries"]
    '{}'
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise InputError("request-malformed", "the form is not UTF-8", where="the form") from None
    if text.count("&") >= _MAX_FIELDS:
        raise InputError("request-malformed", f"the form has more than {_MAX_FIELDS} fields", where="the form")
    return QueryParams(text)
