"""Onym's own rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.corpora.formats import detect, parquet
from onym.corpora.plain import with_answers
from onym.errors import InputError
from onym.testing.documents import Memory, after_round_trip, linked_documents, source_of, written
from onym.types import Document, LinkedDocument, Mention, Problem


def test_many_documents_in_several_row_groups() -> None:
    docs = [Document(str(n), f"fever {n}", (Mention(0, 5, "fever", ("mesh:D005334",)),)) for n in range(1200)]
    source = source_of(a__parquet=written(parquet, docs)[""])
    assert detect(source) == "parquet"
    assert list(parquet.read(source)) == docs


def test_a_damaged_file_is_refused() -> None:
    data = written(parquet, [Document("1", "x")])[""]
    for bad in (data[:-20], data[:4], b"PAR1" + bytes(40) + b"PAR1"):
        with pytest.raises(InputError) as caught:
            list(parquet.read(source_of(a__parquet=bad)))
        assert caught.value.code == "parquet-malformed"


def test_a_wrong_offset_in_a_row() -> None:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"id": "1", "text": "ab", "mentions": [{"start": 0, "end": 9}]}, {"id": "2", "text": "b", "notes": [["a"]]}]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=parquet.SCHEMA), buffer)
    items = list(parquet.read(source_of(a__parquet=buffer.getvalue())))
    assert [type(item) for item in items] == [Problem, Document, Problem]
    assert [item.code for item in items if isinstance(item, Problem)] == ["corpus-offsets", "corpus-malformed"]


@given(st.lists(linked_documents(), max_size=3, unique_by=lambda linked: linked.document.id))
def test_linked_documents_come_back_and_are_still_a_corpus(linked: list[LinkedDocument]) -> None:
    output = Memory()
    parquet.write_linked(linked, output)
    assert list(parquet.read_linked(output.source("a.parquet"))) == [after_round_trip(each) for each in linked]
    assert list(parquet.read(output.source("a.parquet"))) == [with_answers(each) for each in linked]


def test_a_row_that_is_no_linked_document_is_named() -> None:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"id": "1", "text": "x"}, {"id": "2", "text": "x", "links": [{"candidates": []}]}]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=parquet.LINKED_SCHEMA), buffer)
    linked = parquet.read_linked(source_of(a__parquet=buffer.getvalue()))
    assert next(linked).document.id == "1"
    with pytest.raises(InputError, match="corpus-malformed") as caught:
        next(linked)
    assert caught.value.where == "a.parquet, row 2"
