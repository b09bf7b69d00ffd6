"""What one pipeline answers: link, link in a stream, map, concepts, search."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from onym.errors import ConfigError
from onym.serve.admission import ROUTE
from onym.serve.asking import ask
from onym.serve.bodies import read_body
from onym.serve.pipelines import ServedPipeline
from onym.serve.replies import ERROR_EXAMPLE, LINKED_EXAMPLE, ConceptReply, ErrorReply, LinkedReply, MapReply, SearchReply
from onym.serve.requests import MAX_HITS, MAX_TERM, LinkRequest, MapRequest, parse
from onym.serve.requests import Request as OurRequest
from onym.serve.settings import ServeSettings
from onym.serve.stream import MEDIA_TYPE, LinesResponse

_JSON = "application/json"
_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorReply, "description": "The request is malformed."},
    401: {"model": ErrorReply, "description": "There is no token, or a wrong one."},
    413: {"model": ErrorReply, "description": "The body is too large."},
    422: {"model": ErrorReply, "description": "The text or an option cannot be linked."},
    429: {
        "model": ErrorReply,
        "description": "There is too much to do; Retry-After says when to come again.",
        "content": {_JSON: {"example": ERROR_EXAMPLE}},
    },
    503: {"model": ErrorReply, "description": "The pipeline is not open, or the process that linked the text ended."},
    504: {"model": ErrorReply, "description": "There is no answer within the time limit."},
}


def router_of(pipeline: ServedPipeline, settings: ServeSettings, prefix: str) -> APIRouter:
    """Return the routes of a pipeline; all paths begin with `prefix`."""
    router = APIRouter(prefix=prefix, responses=_ERRORS)

    async def answer(content: dict[str, Any], characters: int, request: Request) -> Response:
        with pipeline.current.use() as pool:
            reply = await ask(pool, content, characters, request.receive)
        return Response(reply.body, reply.status, {"onym-release": reply.release}, _JSON)

    async def body_of(request: Request) -> bytes:
        require_media_type(request, _JSON)
        pipeline.current  # noqa: B018 - refuses before the body is read where nothing is open
        return await read_body(request.receive, settings.max_body, settings.body_timeout)

    linked: dict[int | str, dict[str, Any]] = {200: {"model": LinkedReply, "content": {_JSON: {"example": LINKED_EXAMPLE}}}}

    @router.post("/link", responses=linked, openapi_extra=_takes(LinkRequest))
    async def link(request: Request) -> Response:
        """Link a text, or a document with an id and perhaps annotated mentions."""
        note_route(request, f"{prefix}/link")
        wanted = parse(LinkRequest, await body_of(request))
        return await answer({"op": "link", **wanted.model_dump(exclude_defaults=True)}, wanted.characters, request)

    @router.post("/link/batch", responses={200: {"content": {MEDIA_TYPE: {}}}}, openapi_extra=_takes(LinkRequest, MEDIA_TYPE))
    async def link_batch(request: Request) -> Response:
        """Link many texts: each line is the body of a request to link, and is answered by a line, in order."""
        note_route(request, f"{prefix}/link/batch")
        require_media_type(request, MEDIA_TYPE)
        pipeline.current  # noqa: B018 - refuses where nothing is open
        return LinesResponse(pipeline, settings)

    @router.post("/map", responses={200: {"model": MapReply}}, openapi_extra=_takes(MapRequest))
    async def map_terms(request: Request) -> Response:
        """Map terms, such as the values of a column, to their best concepts."""
        note_route(request, f"{prefix}/map")
        wanted = parse(MapRequest, await body_of(request))
        return await answer({"op": "map", **wanted.model_dump()}, wanted.characters, request)

    @router.get("/concepts/{concept_id:path}", responses={200: {"model": ConceptReply}, 404: {"model": ErrorReply}})
    async def concept(request: Request, concept_id: Annotated[str, Path(max_length=MAX_TERM)]) -> Response:
        """Return a concept by its id, in any case, with or without a prefix."""
        note_route(request, f"{prefix}/concepts/{{id}}")
        return await answer({"op": "concept", "id": concept_id}, 1, request)

    @router.get("/search", responses={200: {"model": SearchReply}})
    async def search(
        request: Request,
        q: Annotated[str, Query(max_length=MAX_TERM, description="A name, its beginning, or some of its words.")],
        limit: Annotated[int, Query(ge=1, le=MAX_HITS)] = 10,
    ) -> Response:
        """Find concepts by a name."""
        note_route(request, f"{prefix}/search")
        return await answer({"op": "search", "q": q, "limit": limit}, len(q), request)

    return router


def note_route(request: Request, route: str) -> None:
    """Note which route answers, for metrics and logs."""
    request.scope.get(ROUTE, {})["route"] = route


def _takes(kind: type[OurRequest], media_type: str = _JSON) -> dict[str, Any]:
    """Return what OpenAPI says of a body that is read here, not by FastAPI."""
    described = kind.model_json_schema(ref_template="#/components/schemas/{model}")
    examples = described.pop("examples", [])
    named = {f"example {number}": {"value": value} for number, value in enumerate(examples, 1)}
    return {"requestBody": {"required": True, "content": {media_type: {"schema": described, "examples": named}}}}


def require_media_type(request: Request, media_type: str) -> None:
    """Refuse other bodies: a page of another site can send forms and plain text without being asked whether it may."""
    stated = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if stated != media_type or request.headers.get("content-encoding", "identity") != "identity":
        fix = f"send Content-Type: {media_type}, without Content-Encoding"
        raise ConfigError("serve-media-type", "the body is of another type", fix=fix)
