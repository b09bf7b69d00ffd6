"""OMOP's table `note_nlp` (CDM 5.4): a row for each mention, or for each standard concept where it stands for several.

| column | is |
|---|---|
| `offset` | the start of the mention, in code points |
| `lexical_variant`, `snippet` | the mention, and the text around it, cut at 250 code points |
| `note_nlp_source_concept_id` | the concept of the code in its own vocabulary, 0 where it is not known |
| `note_nlp_concept_id` | the standard concept, 0 where it is not known |
| `term_exists` | with assertion marks: N if negated, hypothetical or about another person, else Y |
| `term_temporal` | with assertion marks: `past` if historical, else `present` |
| `term_modifiers` | the code, where the mention ends, confidence, score and marks, or why it is not linked |
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from onym.predictions.exchange.omop_concepts import NO_CONCEPT, OmopConcepts
from onym.predictions.exchange.omop_note_ids import NoteIds
from onym.predictions.exchange.vocabularies import Vocabularies
from onym.predictions.rows import write_plain_csv
from onym.types import AssertionMark, Link, LinkedDocument
from onym.views import styled

COLUMNS: dict[str, type] = {
    "note_nlp_id": int,
    "note_id": int,
    "section_concept_id": int,
    "snippet": str,
    "offset": str,
    "lexical_variant": str,
    "note_nlp_concept_id": int,
    "note_nlp_source_concept_id": int,
    "nlp_system": str,
    "nlp_date": str,
    "nlp_datetime": str,
    "term_exists": str,
    "term_temporal": str,
    "term_modifiers": str,
}
OMITTED = "[omitted]"
"""The lexical_variant where texts are left out: the column may not be empty."""
_BREAKS = str.maketrans("\r\n", "  ")
_TEXT, _MODIFIERS = 250, 2000  # code points that the columns have
_NOT_THERE: tuple[AssertionMark, ...] = ("negated", "hypothetical", "other-experiencer")
_MODIFIER_OF: dict[AssertionMark, str] = {
    "negated": "negation=true",
    "possible": "uncertainty=true",
    "historical": "history=true",
    "hypothetical": "conditional=true",
    "other-experiencer": "subject=other",
}


@dataclass(frozen=True)
class NoteNlp:
    """What rows have besides links: the day of the run, the system, names of vocabularies and ids of concepts."""

    nlp_date: datetime.date
    nlp_system: str = "onym"
    vocabularies: Vocabularies = field(default_factory=Vocabularies)
    concepts: OmopConcepts = field(default_factory=OmopConcepts)
    text: bool = True


def write_note_nlp(linked: Iterable[LinkedDocument], table: NoteNlp, file: BinaryIO, keys: BinaryIO | None = None) -> None:
    """Write the table as CSV for a database: a header, empty cells for NULL, and texts as they are."""
    write_plain_csv(note_nlp_rows(linked, table, NoteIds(keys)), COLUMNS, file)


def note_nlp_rows(linked: Iterable[LinkedDocument], table: NoteNlp, notes: NoteIds) -> Iterator[list[Any]]:
    """Yield the rows of documents that were linked.

    >>> from onym.types import Candidate, Document, Mention
    >>> fever = Mention(3, 8, "fever")
    >>> link = Link(fever, (Candidate("mesh:D005334", "fever", 1.0, "Fever"),), assertion=("negated",))
    >>> linked = LinkedDocument(Document("7", "No fever", (fever,)), (link,))
    >>> (row,) = note_nlp_rows([linked], NoteNlp(datetime.date(2026, 1, 2)), NoteIds())
    >>> row[:6], row[9], row[11:]
    ([1, 7, None, 'No fever', '3', 'fever'], '2026-01-02', ['N', 'present', 'code=MESH:D005334;end=8;score=1.0;negation=true'])
    """
    number = 0
    for each in linked:
        if not each.is_complete:
            continue
        note = notes.of(each.document)
        for link in each.links:
            for source, standard in _concept_ids(link, table):
                number += 1
                yield [number, note, *_row(link, each.document.text, source, standard, table)]


def _row(link: Link, text: str, source: int, standard: int, table: NoteNlp) -> list[Any]:
    mention = link.mention
    exists, temporal = _asserted(link)
    return [
        None,
        _snippet(text, mention.start, mention.end) if table.text else None,
        str(mention.start),
        _storable(mention.surface[:_TEXT]) if table.text else OMITTED,
        standard,
        source,
        table.nlp_system[:_TEXT],
        table.nlp_date.isoformat(),
        None,
        exists,
        temporal,
        _modifiers(link)[:_MODIFIERS],
    ]


def _concept_ids(link: Link, table: NoteNlp) -> list[tuple[int, int]]:
    """Return the ids of the source concept and of each standard concept."""
    found = table.concepts.find(*table.vocabularies.omop(link.concept_id)) if link.concept_id else None
    if found is None:
        return [(NO_CONCEPT, NO_CONCEPT)]
    return [(found.id, each.id) for each in found.standard] or [(found.id, NO_CONCEPT)]


def _asserted(link: Link) -> tuple[str | None, str | None]:
    if link.assertion is None:
        return None, None
    is_there = not any(mark in _NOT_THERE for mark in link.assertion)
    return "Y" if is_there else "N", "past" if "historical" in link.assertion else "present"


def _modifiers(link: Link) -> str:
    answer = link.candidates[0] if link.concept_id else None
    values = {
        "code": styled(answer.concept_id) if answer else None,
        "end": link.mention.end,
        "confidence": None if link.confidence is None else round(link.confidence, 4),
        "score": round(float(answer.score), 4) if answer else None,
        "nil": link.nil_reason,
    }
    marks = [_MODIFIER_OF[mark] for mark in link.assertion or ()]
    said = [f"{name}={value}".replace(";", ",") for name, value in values.items() if value is not None]
    return _storable(";".join([*said, *marks]))


def _snippet(text: str, start: int, end: int) -> str:
    """Return the mention with as much text on both sides as the column has room for; line breaks are spaces."""
    before = max(0, start - max(0, _TEXT - (end - start)) // 2)
    return _storable(text[before : before + _TEXT].translate(_BREAKS))


def _storable(text: str) -> str:
    return text.replace("\x00", "\ufffd")  # the character that PostgreSQL cannot store
