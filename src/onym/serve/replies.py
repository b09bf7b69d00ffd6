"""What answers look like, for the OpenAPI description; they are made by `LinkedDocument.to_dict` and its siblings."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Described(BaseModel):
    """An object with these keys and no others."""

    model_config = ConfigDict(extra="forbid")


class CandidateReply(Described):
    """A concept that a mention may mean."""

    concept_id: str
    preferred_name: str
    matched_name: str
    score: float


class LinkReply(Described):
    """A mention, its best concept, and all candidates, best first; offsets count code points."""

    document: str
    start: int
    end: int
    text: str
    type: str | None
    concept_id: str | None
    preferred_name: str | None
    matched_name: str | None
    score: float | None
    confidence: float | None
    ties: int
    stage: str | None
    nil_reason: str | None
    assertion: str | None
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


_MENTION: dict[str, Any] = {
    "document": "1",
    "start": 5,
    "end": 10,
    "text": "fever",
    "type": "Disease",
    "concept_id": "MESH:D005334",
    "preferred_name": "Fever",
    "matched_name": "fever",
    "score": 1.0,
    "confidence": 0.97,
    "ties": 0,
    "stage": None,
    "nil_reason": None,
    "assertion": None,
    "candidates": [{"concept_id": "MESH:D005334", "preferred_name": "Fever", "matched_name": "fever", "score": 1.0}],
}
LINKED_EXAMPLE: dict[str, Any] = {"id": "1", "text": "High fever.", "links": [_MENTION], "problems": []}
ERROR_EXAMPLE: dict[str, Any] = {
    "error": {
        "code": "serve-overloaded",
        "what": "there is more to do than can be answered in time",
        "where": "",
        "fix": "come again later",
    }
}
