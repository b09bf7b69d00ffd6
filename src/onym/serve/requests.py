"""What requests may hold: checked before anything is queued, and refused without a word of their text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from onym.errors import InputError

MAX_TERMS, MAX_TERM, MAX_TYPES, MAX_TOP_K, MAX_HITS = 1_000, 1_000, 64, 1_000, 100
Term = Annotated[str, StringConstraints(max_length=MAX_TERM)]
T = TypeVar("T", bound="Request")


class Request(BaseModel):
    """The body of a request; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class LinkRequest(Request):
    """A text, or a document with an id and perhaps annotated mentions, to be linked.

    >>> LinkRequest(text="High fever.").characters
    11
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "High fever after a heart attack."},
                {"text": "High fever.", "types": ["Disease"], "top_k": 3},
                {"text": "Myocardial infarction (MI). No MI before.", "explain": True},
                {"document": {"id": "1", "text": "Fever", "mentions": [{"start": 0, "end": 5}]}, "format": "document"},
            ]
        }
    )

    text: str | None = Field(default=None, description="Raw text; mentions are found in it.")
    document: dict[str, Any] | None = Field(
        default=None,
        description="A document as a line of Onym's JSONL has it: id, text, and mentions, which are linked as they are.",
    )
    types: list[Term] = Field(default=[], max_length=MAX_TYPES, description="Answers of these semantic groups or types alone.")
    top_k: int | None = Field(
        default=None, ge=1, le=MAX_TOP_K, description="Candidates per mention, at most those of the pipeline."
    )
    precision: float | None = Field(default=None, gt=0, lt=1, description="Target precision, for a calibrated pipeline.")
    format: Literal["links", "document"] = Field(
        default="links",
        description="links: as `onym link --json` prints them; document: as a line of JSONL, linked-document/2.",
    )
    explain: bool = Field(
        default=False,
        description="Add `explanations`, one per link, as `onym explain --json` prints them; with the format links alone.",
    )

    @model_validator(mode="after")
    def _require_one(self) -> LinkRequest:
        if (self.text is None) == (self.document is None):
            raise ValueError("give either text or document")
        if self.explain and self.format != "links":
            raise ValueError("explanations are for the format links")
        return self

    @property
    def characters(self) -> int:
        """How much there is to link."""
        return len(self.text if self.text is not None else str((self.document or {}).get("text", "")))


class MapRequest(Request):
    """Terms, such as the values of a column, to be mapped to their best concepts."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"terms": ["pyrexia", "heart attack"]}]})

    terms: list[Term | None] = Field(max_length=MAX_TERMS)
    types: list[Term] = Field(default=[], max_length=MAX_TYPES, description="Answers of these semantic groups or types alone.")
    precision: float | None = Field(default=None, gt=0, lt=1, description="Target precision, for a calibrated pipeline.")

    @property
    def characters(self) -> int:
        """How much there is to map."""
        return sum(len(term or "") for term in self.terms)


def parse(kind: type[T], body: bytes, where: str = "the body") -> T:
    """Return a request; what is wrong with a body is said by name and kind, never by value.

    >>> parse(LinkRequest, b'{"text": 7}')
    Traceback (most recent call last):
    onym.errors.InputError: [request-malformed] text: Input should be a valid string...
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as e:
        raise malformed(e.errors(include_url=False, include_input=False, include_context=False), where) from None


def malformed(errors: Sequence[Any], where: str) -> InputError:
    """Return the refusal of values by what pydantic says is wrong first; the names of unknown keys may be text."""
    first = errors[0]
    is_extra = first["type"] == "extra_forbidden"
    loc = [str(part) for part in first["loc"][: -1 if is_extra else None]]
    kind = "a key that is not known" if is_extra else "not JSON" if first["type"] == "json_invalid" else first["msg"]
    return InputError("request-malformed", f"{'.'.join(loc) or 'body'}: {kind}", where=where, fix="see /openapi.json")
