"""The page at `/`: paste a text or drop a table, and look at the links. It uses the routes under /v1 as any client does."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from onym.serve.page_files import PAGE_FILES, POLICY
from onym.serve.routes import note_route

_HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-cache",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def page_router() -> APIRouter:
    """Return the routes of the page's files."""
    router = APIRouter(include_in_schema=False)
    for path in PAGE_FILES:
        router.add_api_route(path, _answer, methods=["GET", "HEAD"])
    return router


async def _answer(request: Request) -> Response:
    note_route(request, "/")
    file = PAGE_FILES[request.scope["path"]]
    return Response(file.content, headers=_HEADERS, media_type=file.media_type)
