"""Look concepts up, by an id or by a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from onym.serve.routes import MAX_HITS, MAX_TERM, Reply, Request, Route
from onym.views import concept_to_dict

if TYPE_CHECKING:
    from onym.pipeline.pipeline import Pipeline


class ConceptRequest(Request):
    """The id of a concept."""

    concept_id: str = Field(max_length=MAX_TERM, serialization_alias="id")


class SearchRequest(Request):
    """A name of concepts that are wanted, and how many of them."""

    q: str = Field(max_length=MAX_TERM, description="A name, its beginning, or some of its words.")
    limit: int = Field(default=10, ge=1, le=MAX_HITS)

    @property
    def characters(self) -> int:
        """How long the name is."""
        return len(self.q)


class ConceptReply(Reply):
    """A concept of the knowledge base."""

    id: str
    preferred_name: str
    names: list[str]
    groups: list[str]
    types: list[str]
    definitions: list[str]
    xrefs: list[str]


class HitReply(ConceptReply):
    """A concept that was found, by which name, and how: exact, prefix or words."""

    match: str
    name: str


class SearchReply(Reply):
    """Concepts, best first."""

    hits: list[HitReply]


def _concept(pipeline: Pipeline, job: dict[str, Any]) -> dict[str, Any]:
    return concept_to_dict(pipeline.kb[job["id"]])


def _search(pipeline: Pipeline, job: dict[str, Any]) -> dict[str, Any]:
    from onym.kb.search import search

    kb = pipeline.kb
    hits = search(kb, job["q"], job["limit"])
    return {"hits": [{"match": hit.match, "name": hit.name, **concept_to_dict(kb[hit.concept_id])} for hit in hits]}


ROUTES = (
    Route(
        path="/concepts/{concept_id:path}",
        op="concept",
        takes=ConceptRequest,
        replies=ConceptReply,
        description="Return a concept by its id, in any case, with or without a prefix.",
        act=_concept,
        method="GET",
    ),
    Route(
        path="/search",
        op="search",
        takes=SearchRequest,
        replies=SearchReply,
        description="Find concepts by a name.",
        act=_search,
        method="GET",
    ),
)
