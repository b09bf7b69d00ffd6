"""Tests of reading and writing COMETA's table, including stray quotes."""

from __future__ import annotations

import pytest

from onym.corpora.formats import cometa, detect
from onym.errors import InputError
from onym.types import Document, Problem
from tests.support.documents import source_of, write_to_memory

HEAD = "ID\tTerm\tGeneral SNOMED Label\tGeneral SNOMED ID\tSpecific SNOMED Label\tSpecific SNOMED ID\tExample\n"
ROWS = '1\tfever\tFever\t386661006\tHigh fever\t64882008\t"a high ""fever"" and fever"\n2\tabsent\tX\t1234567\t\t\tnothing\n'


def test_rows_survive_reading_and_writing() -> None:
    source = source_of(train__csv=HEAD + ROWS)
    assert detect(source) == "cometa"
    first, second = cometa.read(source)
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.id, first.text, first.mentions[0].start) == ("1", 'a high "fever" and fever', 8)
    assert first.mentions[0].concept_ids == ("snomedct:386661006",)
    assert dict(first.mentions[0].notes)["specific id"] == "64882008"
    assert (second.text, second.mentions[0].start) == ("absent nothing", 0)
    assert write_to_memory(cometa, [first])[""].decode() == HEAD + ROWS.splitlines(keepends=True)[0]


def test_a_row_without_a_term_is_a_problem() -> None:
    problem, _ = cometa.read(source_of(a__csv=HEAD + "1\t\tX\t1\t\t\tnothing\n" + ROWS.splitlines()[1] + "\n"))
    assert isinstance(problem, Problem)
    assert (problem.document_id, problem.code) == ("1", "corpus-malformed")


LINES = [f"{number}\tfever\tX\t1\t\t\ta fever{end}" for number, end in enumerate(["", "", " ", " again", ""], 1)]


@pytest.mark.parametrize("stray", ['2\t"fever\tX\t1\t\t\ta fever', '2\tfever\tX\t1\t\t\t"a fever', '"2'])
@pytest.mark.parametrize("later", ["", '"', '6\tfever\tX\t1\t\t\t"a ""fever"""'])
def test_a_stray_quote_loses_only_its_row(stray: str, later: str) -> None:
    items = list(cometa.read(source_of(a__csv=HEAD + "\n".join([LINES[0], stray, *LINES[2:], *filter(None, [later])]) + "\n")))
    assert {item.id for item in items if isinstance(item, Document)} >= {"1", "3", "4", "5"}
    assert isinstance(items[1], Problem)


def test_a_stray_quote_before_many_rows_loses_only_its_row() -> None:
    rows = [f"{number}\tfever\tX\t1\t\t\t{'fever ' * 200}" for number in range(3, 500)]
    items = list(cometa.read(source_of(a__csv=HEAD + "\n".join([LINES[0], '2\t"fever', *rows]) + "\n")))
    assert len([item for item in items if isinstance(item, Document)]) == 498


def test_an_unclosed_quote_over_too_many_lines_is_an_error() -> None:
    with pytest.raises(InputError, match="table-fields"):
        list(cometa.read(source_of(a__csv=HEAD + LINES[0] + '\n2\t"fever\n' + "fever\n" * 30_000)))


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_cell_that_is_too_long_loses_only_its_row(quote: str) -> None:
    long = f"2\tfever\tX\t1\t\t\t{quote}{'fever ' * 30_000}"
    items = list(cometa.read(source_of(a__csv=HEAD + "\n".join([LINES[0], long, LINES[0]]) + "\n")))
    assert [type(item) for item in items] == [Document, Problem, Document]


def test_a_quoted_cell_may_span_lines() -> None:
    first, second = cometa.read(source_of(a__csv=HEAD + '1\tfever\tX\t1\t\t\t"a fever\nand\ta cough"\n' + LINES[1] + "\n"))
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert first.text == "a fever\nand\ta cough"
    bad, after = cometa.read(source_of(a__csv=HEAD + '1\tfever\tX\t1\t\t\t"a fever\nand\0 a cough"\n' + LINES[1] + "\n"))
    assert isinstance(bad, Problem)
    assert isinstance(after, Document)
    assert bad.code == "input-encoding"


@pytest.mark.parametrize("head", ["a\tb\n", "ID,Term\n"])
def test_other_tables_are_not_recognised(head: str) -> None:
    assert not cometa.matches(source_of(a__csv=head))
