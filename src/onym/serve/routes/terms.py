"""The route that maps terms, such as the values of a column, to their best concepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field

from onym.serve.routes import MAX_HITS, MAX_TERMS, PER_SURFACE, Options, Reply, Route, Term
from onym.serve.routes.concepts import ParentReply
from onym.serve.routes.link import CandidateReply

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase
    from onym.pipeline.pipeline import Pipeline
    from onym.types import Link


class MapRequest(Options):
    """A request to map terms, such as the values of a column, to their best concepts."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"terms": ["pyrexia", "heart attack"]}]})

    terms: list[Term | None] = Field(max_length=MAX_TERMS)
    candidates: int = Field(
        default=0, ge=0, le=MAX_HITS, description="Maximum candidates per row, added as `candidates`; 0 adds none."
    )

    @property
    def characters(self) -> int:
        """The cost of the request, as the number of text characters that take the same time to link."""
        return sum(PER_SURFACE + len(term) for term in self.terms if term)


class MappedCandidate(CandidateReply):
    """A candidate concept of a term. Its parents are present if the knowledge base has a hierarchy."""

    parents: list[ParentReply] = Field(default=[])


class MappedRow(Reply):
    """A term and its best concept."""

    term: str | None
    concept_id: str | None
    preferred_name: str | None
    matched_name: str | None
    score: float | None
    confidence: float | None
    nil_reason: str | None
    candidates: list[MappedCandidate] = Field(default=[])


class MapReply(Reply):
    """A row for each term, in the order of the request."""

    rows: list[MappedRow]


def _map(pipeline: Pipeline, job: dict[str, Any]) -> dict[str, Any]:
    from onym.outputs.mapping import map_to_rows

    terms, count = job["terms"], job.get("candidates", 0)
    rows = _rows_with_candidates(terms, pipeline, count) if count else map_to_rows(terms, pipeline)
    return {"rows": [{"term": term, **row} for term, row in zip(terms, rows, strict=True)]}


def _rows_with_candidates(terms: Sequence[str | None], pipeline: Pipeline, count: int) -> list[dict[str, Any]]:
    from onym.outputs.mapping import MAPPED_COLUMNS, link_terms

    nothing = dict.fromkeys(MAPPED_COLUMNS) | {"candidates": []}
    distinct = list(dict.fromkeys(term for term in terms if term is not None))
    found: dict[str | None, dict[str, Any]] = {}
    for term, linked in zip(distinct, link_terms(distinct, pipeline), strict=True):
        for row, link in zip(linked.to_dict()["links"], linked.links, strict=True):
            candidates = row["candidates"][:count]
            _add_parents(candidates, link, pipeline.kb)
            found[term] = {name: row[name] for name in MAPPED_COLUMNS} | {"candidates": candidates}
    return [found.get(term, nothing) for term in terms]


def _add_parents(candidates: Sequence[dict[str, Any]], link: Link, kb: KnowledgeBase) -> None:
    """Add the parents of each candidate, if the knowledge base has a hierarchy."""
    if not kb.hierarchy.is_empty:
        for plain, candidate in zip(candidates, link.candidates, strict=False):
            plain["parents"] = [each.to_dict() for each in kb.parents_of(candidate.concept_id)]


ROUTES = (
    Route(
        path="/map",
        op="map",
        takes=MapRequest,
        replies=MapReply,
        description="Map terms, such as the values of a column, to their best concepts.",
        act=_map,
        name="map_terms",
    ),
)
