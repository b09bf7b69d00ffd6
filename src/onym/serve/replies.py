"""What answers look like, for the OpenAPI description; they are made by `LinkedDocument.to_dict` and its siblings."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from onym.types import Candidate, Document, Link, LinkedDocument, Mention, column_annotations


class Described(BaseModel):
    """An object with these keys and no others."""

    model_config = ConfigDict(extra="forbid")


class CandidateReply(Described):
    """A concept that a mention may mean."""

    concept_id: str
    preferred_name: str
    matched_name: str
    score: float


_COLUMNS = {name: (kind, ...) for name, kind in column_annotations().items()}
_Columns: Any = create_model("_Columns", __base__=Described, **_COLUMNS)  # type: ignore[call-overload]


class LinkReply(_Columns):  # type: ignore[misc]  # made of the columns of the flat table
    """A mention, its best concept, and all candidates, best first; offsets count code points."""

    candidates: list[CandidateReply]


class ReasonReply(Described):
    """A name or a memory that speaks for the concept.

    Kinds: same-name, similar-name, model-name, other-name, memory, similar-mention.
    """

    kind: str
    text: str
    value: float


class EffectReply(Described):
    """What a feature of a reranker did for the concept, against the runner-up."""

    feature: str
    value: float | None
    runner_up: float | None
    effect: float


class ExplanationReply(Described):
    """Why a mention got its concept, or none."""

    start: int
    end: int
    text: str
    expansion: str | None
    concept_id: str | None
    preferred_name: str | None
    matched_name: str | None
    name_kind: str | None
    name_sources: list[str]
    score: float | None
    confidence: float | None
    detection_score: float | None
    stage: str | None
    ties: int
    nil_reason: str | None
    reasons: list[ReasonReply]
    effects: list[EffectReply]
    runner_up: str | None
    margin: float | None
    source: dict[str, Any]


class LinkedReply(Described):
    """A linked text, as `onym link --json` prints it. With `format: document` it is a linked-document/2 instead.

    `explanations` are there with `explain: true` alone, one per link.
    """

    id: str
    text: str
    links: list[LinkReply]
    problems: list[dict[str, str]]
    explanations: list[ExplanationReply] = []


class MappedRow(Described):
    """A term and its best concept."""

    term: str | None
    concept_id: str | None
    preferred_name: str | None
    matched_name: str | None
    score: float | None
    confidence: float | None
    nil_reason: str | None


class MapReply(Described):
    """A row for each term, in their order."""

    rows: list[MappedRow]


class ConceptReply(Described):
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


class SearchReply(Described):
    """Concepts, best first."""

    hits: list[HitReply]


class ErrorFields(Described):
    """A permanent code, what happened, where, and how to fix it."""

    code: str
    what: str
    where: str
    fix: str


class ErrorReply(Described):
    """An error; it never holds text of the request."""

    error: ErrorFields


_FEVER = Mention(5, 10, "fever", type="Disease")
_LINK = Link(_FEVER, (Candidate("mesh:D005334", "fever", 1.0, "Fever"),), confidence=0.97)
LINKED_EXAMPLE: dict[str, Any] = LinkedDocument(Document("1", "High fever.", (_FEVER,)), (_LINK,)).to_dict()
ERROR_EXAMPLE: dict[str, Any] = {
    "error": {
        "code": "serve-overloaded",
        "what": "there is more to do than can be answered in time",
        "where": "",
        "fix": "come again later",
    }
}
