"""Data types for mapping terms: the table of terms, and the mapping of one term."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from onym.kb import KnowledgeBase
from onym.store.files.xlsx import cell_text
from onym.text.normal import normal_name
from onym.types import Candidate, Document, LinkedDocument, Mention, NilReason


@dataclass(frozen=True, slots=True)
class TermMapping:
    """A row of a table, the term in the row, and the candidate concepts of the term, best first.

    `cells` are the row as text, `values` its original values (spreadsheets also have numbers and dates). `tied`, `confidence`,
    `nil_reason` and `stage` are as in `onym.Link`.
    """

    cells: tuple[str, ...]
    term: str
    candidates: tuple[Candidate, ...]
    tied: int = 0
    confidence: float | None = None
    nil_reason: NilReason | None = None
    stage: str | None = None
    values: tuple[Any, ...] = field(default=(), compare=False)

    @property
    def answer(self) -> Candidate | None:
        """The best candidate; None if there are no candidates, or if the term is left unlinked (NIL)."""
        return self.candidates[0] if self.candidates and self.nil_reason is None else None

    @property
    def is_tied(self) -> bool:
        """True if several concepts share the best score, so that the choice should be reviewed."""
        return self.tied > 0

    @property
    def is_exact(self) -> bool:
        """True if the normalised term is a name of the best concept, and no other concept has the same score."""
        return self.answer is not None and not self.is_tied and normal_name(self.answer.name) == normal_name(self.term)

    @classmethod
    def of(cls, values: tuple[Any, ...], linked: LinkedDocument) -> TermMapping:
        """Return the mapping of a row whose term was linked."""
        cells, term = tuple(map(cell_text, values)), linked.document.text
        if not linked.links:
            return cls(cells, term, (), values=values)
        link = linked.links[0]
        return cls(cells, term, link.candidates, link.tied, link.confidence, link.nil_reason, link.stage, values)


@dataclass(frozen=True, slots=True)
class TermTable:
    """A table, and the index of its column with the terms."""

    columns: tuple[str, ...]
    rows: Iterable[tuple[Any, ...]]
    column: int


def term_document(term: str, document_id: str) -> Document:
    """Return a term as a document with one mention that covers the text; an empty term has no mention.

    >>> term_document(" Fever ", "1").mentions[0].end
    5
    """
    term = term.strip()
    return Document(document_id, term, (Mention(0, len(term), term),) if term else ())


def display_name(candidate: Candidate, kb: KnowledgeBase) -> str:
    """Return the preferred name of a candidate's concept."""
    return kb.preferred_form(kb.concept_ids.find(candidate.concept_id))
