"""Tests of reading tables and workbooks of texts."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus, read_sources
from onym.errors import ConfigError, InputError
from onym.store.files.source import InputFile, Source
from onym.store.files.xlsx import write_xlsx
from onym.types import Document, Passage, Problem
from tests.support.documents import PLAIN, source_of


def read(data: bytes | str, name: str = "a.csv") -> list[Document | Problem]:
    data = data.encode() if isinstance(data, str) else data
    return list(read_sources([Source.of_files(name, [InputFile.from_bytes(name, data)])]))


def test_columns_are_guessed_by_name() -> None:
    first, second = read("PMID;Journal;Title;Abstract\n1;Lancet;Fever.;It rose.\n2;BMJ;Cough;\n")
    assert isinstance(first, Document)
    assert (first.id, first.text) == ("1", "Fever. It rose.")
    assert first.passages == (Passage(0, 6, "title"), Passage(7, 15, "abstract"))
    assert isinstance(second, Document)
    assert (second.id, second.text, second.passages) == ("2", "Cough", (Passage(0, 5, "title"),))


def test_a_row_without_an_id_is_numbered_and_a_cell_keeps_its_lines() -> None:
    docs = read('note id,note-text\nn1,"No fever,\n ""never""."\n,Cough\n')
    assert [(doc.id, doc.text) for doc in docs if isinstance(doc, Document)] == [
        ("n1", 'No fever,\n "never".'),
        ("a.2", "Cough"),
    ]


def test_a_workbook_is_read_like_a_table() -> None:
    book = io.BytesIO()
    write_xlsx([(1234, "Asthma", "Fever."), (None, "", ""), (1235, "Cough", "")], ("pmid", "title", "abstract"), book)
    docs = read(book.getvalue(), "a.xlsx")
    assert [(doc.id, doc.text) for doc in docs if isinstance(doc, Document)] == [("1234", "Asthma Fever."), ("1235", "Cough")]


def test_given_columns_are_read_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "befund.tsv"
    path.write_text("nr\tbefund\tbeurteilung\n7\tFieber\tAsthma\n")
    reading = read_corpus(path, text_columns=["beurteilung", "befund"], id_column="nr")
    assert [(doc.id, doc.text) for doc in documents_of(reading)] == [("7", "Asthma\nFieber")]
    assert [(file.format, file.text_columns, file.id_column) for file in reading.files] == [
        ("table", ("beurteilung", "befund"), "nr")
    ]
    with pytest.raises(InputError, match="no column is named 'Befund'.*\n.*\n.*use 'befund'"):
        read_corpus(path, text_columns=["Befund"])


def test_an_unknown_table_lists_its_columns_and_the_option() -> None:
    with pytest.raises(ConfigError, match="--text-column; the columns are nr, befund") as caught:
        read("nr,befund\n1,Fieber\n")
    assert caught.value.code == "format-unknown"
    with pytest.raises(InputError, match="--text-column; the columns are nr, befund"):
        read_sources([source_of(a__csv="nr,befund\n1,Fieber\n")], "table")


def test_columns_are_refused_if_no_file_has_columns(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Fever")
    with pytest.raises(ConfigError, match="are for tables and JSON"):
        read_corpus(tmp_path, text_columns=["note"])


def test_a_row_of_other_length_ends_the_file_after_the_documents_before_it() -> None:
    *docs, problem = read("id,text\n" + "1,Fever\n" * 60_000 + "2,a,b\n")
    assert isinstance(problem, Problem)
    assert problem.code == "table-fields"
    assert 0 < len(docs) <= 60_000


@given(rows=st.lists(st.tuples(st.text("abc19", min_size=1), st.text(PLAIN + ',"\n', min_size=1)), min_size=1, max_size=5))
def test_rows_are_read_back(rows: list[tuple[str, str]]) -> None:
    quoted = "".join('"{}","{}"\n'.format(*(cell.replace('"', '""') for cell in row)) for row in rows)
    docs = read(f"id,text\n{quoted}")
    assert [(doc.id, doc.text) for doc in docs if isinstance(doc, Document)] == rows
