"""COMETA's table."""

from __future__ import annotations

import pytest

from onym.corpora.formats import cometa, detect
from onym.testing.documents import source_of, written
from onym.types import Document, Problem

HEAD = "ID\tTerm\tGeneral SNOMED Label\tGeneral SNOMED ID\tSpecific SNOMED Label\tSpecific SNOMED ID\tExample\n"
ROWS = '1\tfever\tFever\t386661006\tHigh fever\t64882008\t"a high ""fever"" and fever"\n2\tabsent\tX\t1234567\t\t\tnothing\n'


def test_rows_are_read_and_written_again() -> None:
    source = source_of(train__csv=HEAD + ROWS)
    assert detect(source) == "cometa"
    first, second = cometa.read(source)
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.id, first.text, first.mentions[0].start) == ("1", 'a high "fever" and fever', 8)
    assert first.mentions[0].concept_ids == ("snomedct:386661006",)
    assert dict(first.mentions[0].notes)["specific id"] == "64882008"
    assert (second.text, second.mentions[0].start) == ("absent nothing", 0)
    assert written(cometa, [first])[""].decode() == HEAD + ROWS.splitlines(keepends=True)[0]


def test_a_row_without_a_term() -> None:
    problem, _ = cometa.read(source_of(a__csv=HEAD + "1\t\tX\t1\t\t\tnothing\n" + ROWS.splitlines()[1] + "\n"))
    assert isinstance(problem, Problem)
    assert (problem.document_id, problem.code) == ("1", "corpus-malformed")


@pytest.mark.parametrize("head", ["a\tb\n", "ID,Term\n"])
def test_other_tables_are_not_taken_for_it(head: str) -> None:
    assert not cometa.matches(source_of(a__csv=head))
