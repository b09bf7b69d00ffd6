"""The routes of the reconciliation service of one pipeline. All of them read only."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from starlette.datastructures import QueryParams

from onym.errors import ConfigError, InputError, UnknownConceptError
from onym.serve.admission import ROOT, UNLOCKED, note_route
from onym.serve.bodies import read_body, require_media_type
from onym.serve.jobs import Reply
from onym.serve.pool import ServedPipeline, ask
from onym.serve.reconcile.concepts import HEADERS, PROPERTIES, card, properties_like, proposed
from onym.serve.reconcile.queries import characters_of, parse_extend, parse_queries
from onym.serve.routes import MAX_HITS, MAX_TERM
from onym.serve.settings import DEFAULT, ServeSettings

FORM = "application/x-www-form-urlencoded"
_JSON = "application/json"
_MAX_FIELDS = 32
_HITS = 10
_PER_CONCEPT = 10  # characters of a text that take as long
_SAFE = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",  # pages that isolate themselves may show previews too
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
    """What the reconciliation service of a pipeline answers; all paths begin with `prefix`."""

    def __init__(self, pipeline: ServedPipeline, settings: ServeSettings, prefix: str) -> None:
        self._pipeline, self._settings, self._prefix = pipeline, settings, prefix

    async def manifest_or_queries(self, request: Request) -> Response:
        """Answer queries that stand in the address; without any, say what the service can do."""
        note_route(request.scope, self._prefix)
        if {"queries", "extend"} & set(request.query_params):
            return await self._answer_fields(request.query_params, request)
        name = "Onym" if self._pipeline.name == DEFAULT else f"Onym {self._pipeline.name}"
        base = base_of(request, self._settings, self._prefix)
        job = {"op": "manifest", "base": base, "name": name, "precision": self._settings.match_precision}
        return await self._answer(job, 1, request)

    async def form(self, request: Request) -> Response:
        """Answer the queries of a form."""
        note_route(request.scope, self._prefix)
        require_media_type(request, FORM)
        self._pipeline.current  # noqa: B018 - refuses before the body is read where nothing is open
        body = await read_body(request.receive, self._settings.max_body, self._settings.body_timeout)
        return await self._answer_fields(fields_of(body), request)

    async def suggest(self, request: Request, kind: str, prefix: Text = "", cursor: Count = 0) -> Response:
        """Suggest entities, types or properties for what somebody types."""
        note_route(request.scope, f"{self._prefix}/suggest")
        if kind == "property":
            return _json({"result": properties_like(prefix)[cursor:]})
        if kind not in ("entity", "type"):
            raise ConfigError("serve-path", "there is nothing at this path", fix="suggest entity, type or property")
        job = {"op": "suggest", "kind": kind, "prefix": prefix, "limit": _HITS, "skip": cursor}
        return await self._answer(job, len(prefix), request)

    async def propose(self, request: Request, kind: Kind = "", limit: Limit = None) -> Response:
        """Name the properties that a table can be extended with."""
        note_route(request.scope, f"{self._prefix}/extend/propose")
        return _json(proposed(kind, limit))

    async def preview(self, request: Request, concept_id: Id) -> Response:
        """Show a concept as a card of HTML."""
        note_route(request.scope, f"{self._prefix}/preview")
        job = {"op": "extend", "ids": [concept_id], "properties": [{"id": key} for key in PROPERTIES]}
        reply = await self._reply(job, 1, request)
        if reply.status != 200:
            return Response(reply.body, reply.status, _SAFE, _JSON)
        row = json.loads(reply.body)["rows"][concept_id]
        if not row["name"]:
            raise UnknownConceptError("concept-unknown", "no concept has this id")
        values = {key: [each["str"] for each in found] for key, found in row.items()}
        return Response(card(concept_id, values), 200, {**_SAFE, **HEADERS}, "text/html; charset=utf-8")

    async def preflight(self, request: Request) -> Response:
        """Tell a browser that pages of other sites may send queries."""
        note_route(request.scope, self._prefix)
        return Response(None, 204, _PREFLIGHT)

    async def _answer_fields(self, fields: QueryParams, request: Request) -> Response:
        """Answer a batch of queries, or a request for properties."""
        if "queries" in fields:
            queries = parse_queries(fields["queries"])
            jobs = {key: query.job() for key, query in queries.items()}
            job = {"op": "reconcile", "queries": jobs, "precision": self._settings.match_precision}
            return await self._answer(job, characters_of(queries), request)
        if "extend" in fields:
            wanted = parse_extend(fields["extend"])
            return await self._answer({"op": "extend", **wanted.model_dump()}, _PER_CONCEPT * len(wanted.ids), request)
        raise InputError("request-malformed", "there is neither queries nor extend", where="the form")

    async def _answer(self, content: dict[str, Any], characters: int, request: Request) -> Response:
        reply = await self._reply(content, characters, request)
        return Response(reply.body, reply.status, {"onym-release": reply.release, **_SAFE}, _JSON)

    async def _reply(self, content: dict[str, Any], characters: int, request: Request) -> Reply:
        with self._pipeline.current.use() as pool:
            return await ask(pool, content, characters, request.receive)


def reconcile_router(pipeline: ServedPipeline, settings: ServeSettings, prefix: str) -> APIRouter:
    """Return the routes of a pipeline; all paths begin with `prefix`, which is /reconcile or /reconcile/NAME."""
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
    """Return the address of a service as its client sees it, with the token where the client sent it in the path."""
    origin = settings.public_url.rstrip("/") or f"{request.url.scheme}://{request.headers['host']}"
    secret = f"/{quote(settings.token, safe='')}" if request.scope.get(UNLOCKED) else ""
    return f"{origin}{ROOT}{secret}{prefix.removeprefix(ROOT)}"


def fields_of(body: bytes) -> QueryParams:
    """Return the fields of a form.

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


def _json(value: dict[str, Any]) -> Response:
    return Response(json.dumps(value, ensure_ascii=False), 200, _SAFE, _JSON)
