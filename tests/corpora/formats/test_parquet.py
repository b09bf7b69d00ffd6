"""Onym's own rows."""

from __future__ import annotations

import pytest

from onym.corpora.formats import detect, parquet
from onym.errors import InputError
from onym.types import Document, Mention, Problem
from tests.corpora.strategies import source_of, written


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
