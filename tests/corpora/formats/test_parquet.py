"""Tests of Onym's Parquet format for documents, with and without links."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.corpora.formats import detect, parquet
from onym.corpora.plain import with_answers
from onym.errors import InputError
from onym.types import Document, LinkedDocument, Mention, Problem
from tests.support.documents import MemoryOutput, after_round_trip, draw_linked_documents, source_of, write_to_memory


def test_documents_are_written_in_several_row_groups() -> None:
    docs = [Document(str(n), f"fever {n}", (Mention(0, 5, "fever", ("mesh:D005334",)),)) for n in range(1200)]
    source = source_of(a__parquet=write_to_memory(parquet, docs)[""])
    assert detect(source) == "parquet"
    assert list(parquet.read(source)) == docs


def test_rejects_a_corrupt_file() -> None:
    data = write_to_memory(parquet, [Document("1", "x")])[""]
    for bad in (data[:-20], data[:4], b"PAR1" + bytes(40) + b"PAR1"):
        with pytest.raises(InputError) as caught:
            list(parquet.read(source_of(a__parquet=bad)))
        assert caught.value.code == "parquet-malformed"


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string(), pa.dictionary(pa.int32(), pa.string()), pa.int64()])
def test_reads_string_columns_of_other_programs(kind: pa.DataType) -> None:
    is_number = kind == pa.int64()
    texts = pa.array(["fever"], pa.large_string() if is_number else kind)
    table = pa.table({"year": [1999], "text": texts, "id": pa.array([7] if is_number else ["7"], kind)})
    assert list(parquet.read(source_of(a__parquet=write_table(table)))) == [Document("7", "fever")]


@pytest.mark.parametrize("table", [{"text": ["fever"]}, {"id": ["1"], "body": ["x"]}, {"id": ["1"], "text": [2.5]}])
def test_other_columns_are_rejected(table: dict[str, list[object]]) -> None:
    with pytest.raises(InputError, match="parquet-columns"):
        list(parquet.read(source_of(a__parquet=write_table(pa.table(table)))))


def write_table(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def test_a_wrong_offset_in_a_row_is_a_problem() -> None:
    rows = [{"id": "1", "text": "ab", "mentions": [{"start": 0, "end": 9}]}, {"id": "2", "text": "b", "notes": [["a"]]}]
    items = list(parquet.read(source_of(a__parquet=write_table(pa.Table.from_pylist(rows, schema=parquet.SCHEMA)))))
    assert [type(item) for item in items] == [Problem, Document, Problem]
    assert [item.code for item in items if isinstance(item, Problem)] == ["corpus-offsets", "corpus-malformed"]


@given(st.lists(draw_linked_documents(), max_size=3, unique_by=lambda linked: linked.document.id))
def test_linked_documents_are_read_back_and_readable_as_a_corpus(linked: list[LinkedDocument]) -> None:
    output = MemoryOutput()
    parquet.write_linked(linked, output)
    assert list(parquet.read_linked(output.source("a.parquet"))) == [after_round_trip(each) for each in linked]
    assert list(parquet.read(output.source("a.parquet"))) == [with_answers(each) for each in linked]


@pytest.mark.parametrize("schema", parquet._SCHEMAS)
def test_reads_linked_documents_without_newer_columns(schema: pa.Schema) -> None:
    candidates = [{"concept_id": each, "name": "x", "score": 1.0} for each in ("a:1", "a:2")]
    mentions = [{"start": 0, "end": 5, "surface": "fever"}]
    plain = {"id": "1", "text": "fever", "mentions": mentions, "links": [{"candidates": candidates}]}
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([plain], schema=schema), buffer)
    (linked,) = parquet.read_linked(source_of(a__parquet=buffer.getvalue()))
    assert linked.links[0].tied == 1
    assert linked.links[0].assertion is None


def test_an_invalid_linked_row_raises_with_its_location() -> None:
    rows = [{"id": "1", "text": "x"}, {"id": "2", "text": "x", "links": [{"candidates": []}]}]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=parquet.LINKED_SCHEMA), buffer)
    linked = parquet.read_linked(source_of(a__parquet=buffer.getvalue()))
    assert next(linked).document.id == "1"
    with pytest.raises(InputError, match="corpus-malformed") as caught:
        next(linked)
    assert caught.value.where == "a.parquet, row 2"


def test_a_row_with_invalid_utf8_loses_only_itself() -> None:
    good = pa.array(["1", "2", "3"])
    raw = pa.array([b"fever", b"caf\xe9", b"cough"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 3, raw.buffers())  # a string column with invalid UTF-8
    items = list(parquet.read(source_of(a__parquet=write_table(pa.table({"id": good, "text": texts})))))
    assert [type(item) for item in items] == [Document, Problem, Document]
    assert [item.code for item in items if isinstance(item, Problem)] == ["input-encoding"]
