"""Tests of converting dataclass fields to JSON values and table cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from onym.fields import PROBABILITY, column, from_cells, from_plain, plain_fields, to_plain
from onym.types import COLUMNS, EVIDENCE, Candidate, Document, Link, LinkedDocument, Mention

Word = Literal["yes", "no"]


@dataclass
class Sample:
    """A dataclass with a field of each type."""

    count: int = 0
    ties: int | None = field(default=None, metadata=column("tied"))
    share: float | None = field(default=None, metadata=PROBABILITY)
    note: str | None = field(default=None, metadata=column(""))
    word: Word | None = None
    words: tuple[Word, ...] | None = None


FIELDS = plain_fields(Sample, ["count", "ties", "share", "note", "word", "words"])
FULL = Sample(2, 0, 0.0, "a", "yes", ("yes", "no"))


def test_round_trip() -> None:
    plain = to_plain(FULL, FIELDS)
    assert plain == {"count": 2, "ties": 0, "share": 0.0, "note": "a", "word": "yes", "words": ["yes", "no"]}
    assert Sample(**from_plain(plain, FIELDS)) == FULL
    assert to_plain(Sample(words=()), FIELDS) == {"words": []}


@pytest.mark.parametrize(
    "plain",
    [
        {"count": -1}, {"count": True}, {"count": 1.0}, {"share": 1.1}, {"share": float("nan")}, {"share": "1"}, {"note": 1},
        {"word": "perhaps"}, {"word": ""}, {"words": "yes"}, {"words": ["perhaps"]}, {"words": [1]},
    ],
)  # fmt: skip
def test_errors_do_not_show_the_value(plain: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"'{next(iter(plain))}' ") as caught:
        from_plain(plain, FIELDS)
    assert "perhaps" not in str(caught.value)


def test_cells_use_the_column_names_in_the_metadata() -> None:
    row = {each.column: each.to_cell(getattr(FULL, each.name)) for each in FIELDS if each.column}
    assert row == {"count": 2, "tied": 0, "share": 0.0, "word": "yes", "words": "yes,no"}
    assert Sample(**from_cells(row, FIELDS)) == Sample(2, 0, 0.0, None, "yes", ("yes", "no"))


def test_row_contains_the_evidence_of_a_link() -> None:
    fever = Mention(0, 5, "fever")
    link = Link(fever, (Candidate("mesh:D005334", "fever", 1.0),), tied=3, confidence=0.5, assertion=("negated",))
    (row,) = LinkedDocument(Document("1", "fever", (fever,)), (link,)).rows()
    assert tuple(row) == COLUMNS
    assert Link(fever, link.candidates, **from_cells(row, EVIDENCE)) == link
