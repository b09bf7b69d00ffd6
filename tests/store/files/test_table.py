"""Tests of reading delimited tables: every row has the expected fields, and binary data is rejected."""

from __future__ import annotations

import csv
import io
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError, LimitError
from onym.store.files import table
from onym.store.files.source import InputFile
from onym.store.files.table import QuoteCheck, TableFormat, header, iter_table, sniff_format
from onym.store.limits import Limits
from tests.store.answers import answer

PLAIN = TableFormat(delimiter="|", names=("a", "b", "end"))
QUOTED = TableFormat(delimiter=",", quoted=True)


def rows(data: bytes, form: TableFormat, columns: list[str], **limits: int) -> list[tuple[str, ...]]:
    file = InputFile.from_bytes("t.txt", data, Limits(**limits))
    return [tuple(row.values()) for batch in iter_table(file, form, columns) for row in batch.to_pylist()]


FIELD = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="|\r\n\x00\ufeff"), max_size=12)


@given(st.lists(st.tuples(FIELD, FIELD), max_size=30))
def test_unquoted_format_keeps_bars_and_quotes(pairs: list[tuple[str, str]]) -> None:
    data = "".join(f"{a}|{b}|\n" for a, b in pairs).encode()
    assert rows(data, PLAIN, ["a", "b"]) == pairs
    assert rows(data, PLAIN, ["b"]) == [(b,) for _, b in pairs]


CELL = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\x00"), max_size=12)


@given(st.lists(st.tuples(CELL, CELL), max_size=30))
def test_quoted_cells_may_hold_commas_quotes_and_newlines(pairs: list[tuple[str, str]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([("id", "name"), *pairs])
    assert rows(out.getvalue().encode(), QUOTED, ["id", "name"]) == pairs


def test_joins_small_batches_without_losing_rows() -> None:
    data = b"".join(b"%d|x|\n" % n for n in range(20_000))
    file = InputFile.from_bytes("t.txt", data, Limits(row_bytes=4_000))
    with patch.multiple(table, _FEW_ROWS=100, _MANY_ROWS=3_000):
        batches = list(iter_table(file, PLAIN, ["a"]))
    assert [value for batch in batches for value in batch["a"].to_pylist()] == [str(n) for n in range(20_000)]
    sizes = [batch.num_rows for batch in batches]
    assert sizes[0] < 1_000
    assert max(sizes) < 4_000
    assert len(sizes) < 40


@pytest.mark.parametrize("form", [PLAIN, QUOTED, TableFormat(comment="#")])
def test_an_empty_file_has_no_rows(form: TableFormat) -> None:
    assert rows(b"", form, ["a"]) == []


def test_a_header_alone_has_no_rows() -> None:
    assert rows(b"id,name\n", QUOTED, ["id"]) == []


def test_comments_before_the_header_are_skipped() -> None:
    data = b"# one\n#two\nid\tname\n1\t#not a comment\n"
    assert rows(data, TableFormat(comment="#"), ["name"]) == [("#not a comment",)]
    assert header(InputFile.from_bytes("t", data), TableFormat(comment="#")) == ["id", "name"]


def test_a_byte_order_mark_and_crlf() -> None:
    assert rows(b"\xef\xbb\xbfid,name\r\n1,a\r\n", QUOTED, ["id", "name"]) == [("1", "a")]


@pytest.mark.parametrize(
    ("data", "code", "where"),
    [
        (b"1|a|\n2|\n", "table-fields", "t.txt:2"),
        (b"1|a|\n2|b|c|\n", "table-fields", "t.txt:2"),
        (b"1|a|\n2|b", "table-fields", "t.txt:2"),
        (b"1|a|\n2|\xff|\n", "input-encoding", "t.txt"),
        (b"1|a|\n2|\x00|\n", "input-encoding", "t.txt"),
        (b"\xff\xfe1\x00|\x00", "input-encoding", "t.txt"),
    ],
)
def test_rejects_a_row_with_a_wrong_number_of_fields(data: bytes, code: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        rows(data, PLAIN, ["a", "b"])
    assert caught.value.code == code
    assert caught.value.where.startswith(where)


@pytest.mark.parametrize(
    ("data", "columns", "said"),
    [
        (b"id,name\n1,a\n", ["label"], "no column is named 'label'"),
        (b"id,name,name\n1,a,b\n", ["name"], "columns 2 and 3 have the same name"),
        (b"," * 5_000 + b"\n", ["name"], "more than 4,096 columns"),
    ],
)
def test_rejects_a_header_without_the_wanted_columns(data: bytes, columns: list[str], said: str) -> None:
    with pytest.raises(InputError, match="table-columns") as caught:
        rows(data, QUOTED, columns)
    assert said in caught.value.what


def test_error_does_not_show_a_row_without_header() -> None:
    with pytest.raises(InputError) as caught:
        rows(b"1,the patient\n2,fell\n", QUOTED, ["term"])
    assert "patient" not in str(caught.value)
    assert caught.value.fix == "the first row must contain the column names; it has 2 cells"


@pytest.mark.parametrize("first", ["fever", "P0017,fever", "2026-01-01,fever", "He fell. Pain,fever", f"{'long ' * 9},fever"])
def test_error_does_not_show_a_row_that_looks_like_data(first: str) -> None:
    with pytest.raises(InputError) as caught:
        rows(f"{first}\n".encode(), QUOTED, ["term"])
    assert "fever" not in str(caught.value)


def test_error_for_a_missing_column_lists_the_existing_ones() -> None:
    with pytest.raises(InputError) as caught:
        rows(b"id,terms\n1,a\n", QUOTED, ["term"])
    assert caught.value.fix == "use 'terms'; the columns are id, terms"
    with pytest.raises(InputError) as caught:
        rows(",".join(f"c{n}" for n in range(20)).encode() + b"\n", QUOTED, ["term"])
    assert caught.value.fix.endswith("c10, c11 and 8 more")


def test_column_names_may_have_spaces_quotes_and_line_breaks() -> None:
    data = b'id, name ,"a ""b"", c","two\nlines"\n1,x,y,z\n'
    assert header(InputFile.from_bytes("t", data), QUOTED) == ["id", "name", 'a "b", c', "two\nlines"]
    assert rows(data, QUOTED, ["name", 'a "b", c', "two\nlines"]) == [("x", "y", "z")]


@pytest.mark.parametrize(
    ("name", "data", "wanted", "delimiter"),
    [
        ("a.csv", b"id,name\n", [], ","),
        ("a.csv", b"id;name\n", [], ";"),
        ("a.csv", b"id\tname\n", [], "\t"),
        ("a.csv", b"id|name\n", [], "|"),
        ("a.tsv", b"id,name\n", [], ","),
        ("a.csv.gz", b"id\n", [], ","),
        ("a.tsv", b"id\n", [], "\t"),
        ("a.csv", b"ID,Name,a|b|c|d\n", ["id", "name"], ","),
        ("a.csv", b'"a;b;c;d",id\n', [], ","),
    ],
)
def test_detects_the_delimiter(name: str, data: bytes, wanted: list[str], delimiter: str) -> None:
    assert sniff_format(InputFile.from_bytes(name, data), wanted) == TableFormat(delimiter, quoted=True)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'id,name\n1,"fever\n2,cough\n', 2),
        (b'id,name\n1,fever\n2,"cough', 3),
        (b'id,name\n1,"fever\n2,"cough"\n3,x\n', 2),
        (b'id,name\n"1,fever\n2,cough\n', 2),
        (b'id,"name\n1,fever\n', 1),
        (b'id,name\n1,"a\nb"\n2,"cough""\n', 4),
        (b'id,name\n1,"' + b"a line\n" * 9_000, 2),
    ],
)
@pytest.mark.parametrize("row_bytes", [2_000, 200_000])
def test_error_for_an_unclosed_quote_has_the_line_number(data: bytes, line: int, row_bytes: int) -> None:
    with pytest.raises(InputError) as caught:
        rows(data, QUOTED, ["id", "name"], row_bytes=row_bytes)
    assert (caught.value.code, caught.value.where) == ("table-quote", f"t.txt:{line}")


def test_accepts_closed_and_inner_quotes() -> None:
    data = b'id,name\n1,5" wide\n2,"a" b\n3,"x\ny" \n4,""\n'
    assert [name for _, name in rows(data, QUOTED, ["id", "name"])] == ['5" wide', "a b", "x\ny ", ""]


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=8), st.integers(1, 7))
def test_tracks_quotes_across_blocks(pairs: list[tuple[str, str]], size: int) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(pairs)
    data, check = out.getvalue().encode(), QuoteCheck("t", ",")
    for start in range(0, len(data), size):
        check.feed(data[start : start + size])
    check.close()
    check.feed(b'"')
    with pytest.raises(InputError):
        check.close()


def test_accepts_duplicate_columns_that_are_not_requested() -> None:
    assert rows(b"id,x,x\n1,a,b\n", QUOTED, ["id"]) == [("1",)]


@pytest.mark.parametrize(
    "data",
    [b"id,name" + b"x" * 5_000, b"id,name\n1," + b"x" * 50_000 + b"\n", b'id,name\n1,"' + b"a line\n" * 9_000 + b'"\n'],
)
def test_rejects_a_row_longer_than_the_limit(data: bytes) -> None:
    with pytest.raises(LimitError, match="limit-line"):
        rows(data, QUOTED, ["id"], row_bytes=2_000)


def test_rejects_comments_longer_than_the_limit() -> None:
    with pytest.raises(LimitError, match="limit-line"):
        rows(b"# again\n" * 10_000, TableFormat(comment="#"), ["id"], row_bytes=2_000)


def test_rejects_a_header_that_is_not_utf8() -> None:
    with pytest.raises(InputError, match="input-encoding"):
        header(InputFile.from_bytes("t", b"id\t\xff\n"), TableFormat())


@given(st.binary(max_size=300))
def test_any_input_gives_rows_or_an_error_without_its_text(data: bytes) -> None:
    for form, columns in ((PLAIN, ["a", "b"]), (QUOTED, ["id"])):
        said = answer(lambda form=form, columns=columns: rows(b"secret" + data, form, columns))  # type: ignore[misc]
        assert "secret" not in said


def test_other_arrow_errors_are_converted_without_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise pa.ArrowInvalid("something new about John Doe")

    monkeypatch.setattr("onym.store.files.table._join_batches", refuse)
    with pytest.raises(InputError) as caught:
        list(iter_table(InputFile.from_bytes("a.tsv", b"id\tname\n1\tx\n"), TableFormat(), ["id"]))
    assert caught.value.code == "table-malformed"
    assert "John" not in str(caught.value)
