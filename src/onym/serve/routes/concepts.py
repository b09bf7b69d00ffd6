"""Routes that look up concepts by id or by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from onym.serve.routes import MAX_HITS, MAX_TERM, Reply, Request, Route
from onym.types import concept_to_dict

if TYPE_CHECKING:
    from onym.pipeline.pipeline import Pipeline


class ConceptRequest(Request):
    """A request for a concept by id."""

    concept_id: str = Field(max_length=MAX_TERM, serialization_alias="id")


class SearchRequest(Request):
    """A search for concepts by name."""

    q: str = Field(max_length=MAX_TERM, description="A name, a prefix of a name, or some words of it.")
    limit: int = Field(default=10, ge=1, le=MAX_HITS)

    @property
    def characters(self) -> int:
        """The cost of the request: the length of the query."""
        return len(self.q)


class ParentReply(Reply):
    """A parent of a concept, with the source that states it and the kind of the relation.

    The kind is `is a`, `broader` or `mapped to`: the heading that a supplementary record of MeSH is mapped to.
    """

    id: str
    name: str
    kind: str
    source: str


class ConceptReply(Reply):
    """A concept of the knowledge base."""

    id: str
    preferred_name: str
    names: list[str]
    groups: list[str]
    types: list[str]
    definitions: list[str]
    xrefs: list[str]
    parents: list[ParentReply]


class HitReply(ConceptReply):
    """A concept with the name that matched, and how it matched: exact, prefix or words."""

    match: str
    name: str


class SearchReply(Reply):
    """The concepts that were found, best first."""

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
        description="Return a concept by its id; case does not matter, and the prefix may be omitted.",
        act=_concept,
        method="GET",
    ),
    Route(
        path="/search",
        op="search",
        takes=SearchRequest,
        replies=SearchReply,
        description="Search concepts by name.",
        act=_search,
        method="GET",
    ),
)
