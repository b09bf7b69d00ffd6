"""Map terms, such as the values of a column, to their best concepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field

from onym.serve.routes import MAX_TERMS, PER_SURFACE, Options, Reply, Route, Term

if TYPE_CHECKING:
    from onym.pipeline.pipeline import Pipeline


class MapRequest(Options):
    """Terms, such as the values of a column, to be mapped to their best concepts."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"terms": ["pyrexia", "heart attack"]}]})

    terms: list[Term | None] = Field(max_length=MAX_TERMS)

    @property
    def characters(self) -> int:
        """How much there is to map."""
        return sum(PER_SURFACE + len(term) for term in self.terms if term)


class MappedRow(Reply):
    """A term and its best concept."""

    term: str | None
    concept_id: str | None
    preferred_name: str | None
    matched_name: str | None
    score: float | None
    confidence: float | None
    nil_reason: str | None


class MapReply(Reply):
    """A row for each term, in their order."""

    rows: list[MappedRow]


def _map(pipeline: Pipeline, job: dict[str, Any]) -> dict[str, Any]:
    from onym.outputs.mapping import mapped_rows

    terms = job["terms"]
    rows = mapped_rows(terms, pipeline)
    return {"rows": [{"term": term, **row} for term, row in zip(terms, rows, strict=True)]}


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
