"""The route that links a text, or a document with an id and optional annotated mentions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from onym.methods.detector import RejectionReason
from onym.serve.routes import PER_SURFACE, Options, Reply, Route, row_model
from onym.serve.routes.concepts import ParentReply
from onym.types import Candidate, Document, Link, LinkedDocument, Mention, kinds_of

if TYPE_CHECKING:
    from onym.pipeline.pipeline import Pipeline
    from onym.pipeline.prepare import Prepared

MAX_TOP_K = 1_000
_FEVER = Mention(5, 10, "fever", type="Disease")
_LINK = Link(_FEVER, (Candidate("mesh:D005334", "fever", 1.0, "Fever"),), confidence=0.97)
_EXAMPLE: dict[str, Any] = LinkedDocument(Document("1", "High fever.", (_FEVER,)), (_LINK,)).to_dict()


class LinkRequest(Options):
    """A request to link a text, or a document with an id and optional annotated mentions.

    >>> LinkRequest(text="High fever.").characters
    11
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "High fever after a heart attack."},
                {"text": "High fever.", "types": ["Disease"], "top_k": 3},
                {"text": "No chest pain, denies fever.", "assertion": False},
                {"text": "Myocardial infarction (MI). No MI before.", "explain": True},
                {"document": {"id": "1", "text": "Fever", "mentions": [{"start": 0, "end": 5}]}, "format": "document"},
            ]
        }
    )

    text: str | None = Field(default=None, description="Raw text; mentions are detected.")
    document: dict[str, Any] | None = Field(
        default=None,
        description="A document in Onym's JSONL format: id, text and annotated mentions, which are linked without detection.",
    )
    top_k: int | None = Field(
        default=None, ge=1, le=MAX_TOP_K, description="Maximum candidates per mention; cannot exceed the pipeline's own limit."
    )
    format: Literal["links", "document"] = Field(
        default="links",
        description="links: the output of `onym link --json`; document: a line of JSONL (linked-document/2).",
    )
    explain: bool = Field(
        default=False,
        description="Add `explanations`, one per link, and `rejections`, names in the text that were not taken as mentions, as "
        "in `onym explain --json`. Only for the format links.",
    )

    @model_validator(mode="after")
    def _require_one(self) -> LinkRequest:
        if (self.text is None) == (self.document is None):
            raise ValueError("give either text or document, and not both")
        if self.explain and self.format != "links":
            raise ValueError("explain: true requires format: links")
        return self

    @property
    def characters(self) -> int:
        """The cost of the request, in characters. Mentions count too: they may overlap and together be longer than the text."""
        if self.document is None:
            return len(self.text or "")
        mentions = self.document.get("mentions")
        surfaces = sum(map(_surface_characters, mentions)) if isinstance(mentions, list) else 0
        return len(str(self.document.get("text", ""))) + surfaces

    def job(self) -> dict[str, Any]:
        """Return the non-default fields as plain values, for a linker process."""
        return self.model_dump(exclude_defaults=True)


def _surface_characters(mention: Any) -> int:
    """Return the cost of an annotated mention, as the number of text characters that take the same time to link.

    >>> _surface_characters({"start": 5, "end": 10})
    55
    """
    start, end = (mention.get("start"), mention.get("end")) if isinstance(mention, dict) else (None, None)
    return PER_SURFACE + (max(0, end - start) if isinstance(start, int) and isinstance(end, int) else 0)


class CandidateReply(Reply):
    """A candidate concept of a mention or term."""

    concept_id: str
    preferred_name: str
    matched_name: str
    score: float


class LinkReply(row_model("LinkRow", kinds_of(), ("document", "start", "end", "text", "ties"))):  # type: ignore[misc]
    """A mention with its best concept and all candidates, best first. Offsets count code points.

    The other keys are the columns of the flat table.
    """

    candidates: list[CandidateReply]
    extra: dict[str, Any] = Field(default={}, description="What components of plug-ins say, by the name of the component.")


class ReasonReply(Reply):
    """A name, or an annotated mention of training documents, that supports the concept.

    Kinds: same-name, similar-name, model-name, other-name, memory, similar-mention.
    """

    kind: str
    text: str
    value: float


class EffectReply(Reply):
    """The contribution of a reranker feature to the concept's score, relative to the runner-up."""

    feature: str
    value: float | None
    runner_up: float | None
    effect: float


class ExplanationReply(Reply):
    """Why a mention was linked to its concept, or left unlinked."""

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
    assertion: str | None
    correction: str | None
    decided_by: str | None
    reasons: list[ReasonReply]
    effects: list[EffectReply]
    runner_up: str | None
    margin: float | None
    parents: dict[str, list[ParentReply]] = Field(description="Parents of the candidates, by concept id.")
    source: dict[str, Any]


class RejectionReply(Reply):
    """A name of the knowledge base that occurs in the text but was not taken as a mention. `detail` is the reason in words."""

    start: int
    end: int
    text: str
    rejected: RejectionReason
    detail: str


class LinkedReply(Reply):
    """A linked text, as in `onym link --json`. With `format: document`, the reply is a linked-document/2 instead.

    `explanations`, one per link, and `rejections` are only present with `explain: true`.
    """

    id: str
    text: str
    links: list[LinkReply]
    problems: list[dict[str, str]]
    explanations: list[ExplanationReply] = Field(default=[])
    rejections: list[RejectionReply] = Field(default=[])


def reply_with_links(prepared: Prepared, linked: LinkedDocument, job: dict[str, Any], pipeline: Pipeline) -> dict[str, Any]:
    """Return a linked document as plain values, in the format that the job requests."""
    from onym.corpora.plain import to_plain_linked

    explained = pipeline.explain_linked(prepared, linked) if job.get("explain") else None
    if top_k := job.get("top_k"):
        linked = replace(linked, links=tuple(replace(link, candidates=link.candidates[:top_k]) for link in linked.links))
    if job.get("format") == "document":
        return to_plain_linked(linked)
    shown = linked.to_dict()
    return shown if explained is None else shown | explained.to_dict()


ROUTES = (
    Route(
        path="/link",
        op="link",
        takes=LinkRequest,
        replies=LinkedReply,
        description="Link a text, or a document with an id and optional annotated mentions.",
        example=_EXAMPLE,
    ),
)
