"""Tests of the size limits and the batches of decoded Parquet rows."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError, LimitError
from onym.store.files.parquet import DecodedRows
from onym.store.limits import Limits

WORD = pa.dictionary(pa.int32(), pa.string())
PLAIN = pa.schema(
    {
        "text": pa.string(),
        "notes": pa.list_(pa.list_(pa.string())),
        "spans": pa.list_(pa.struct({"n": pa.int64(), "w": pa.string()})),
    }
)
CODED = pa.schema({"text": WORD, "notes": pa.list_(pa.list_(WORD)), "spans": pa.list_(pa.struct({"n": pa.int64(), "w": WORD}))})
WORDS = st.none() | st.sampled_from(["", "a", "fever", "\U0001f9ec"])
ROWS = st.fixed_dictionaries(
    {
        "text": WORDS,
        "notes": st.none() | st.lists(st.none() | st.lists(WORDS, max_size=3), max_size=3),
        "spans": st.none()
        | st.lists(st.none() | st.fixed_dictionaries({"n": st.none() | st.integers(0, 9), "w": WORDS}), max_size=3),
    }
)


@given(st.lists(ROWS, max_size=8), st.integers(0, 3))
def test_decoding_dictionaries_keeps_the_rows(rows: list[dict[str, object]], start: int) -> None:
    batch = pa.RecordBatch.from_pylist(rows, schema=CODED).slice(start)
    found = list(DecodedRows("a", 10**6, Limits()).of(iter([batch])))
    assert [row for each in found for row in each.to_pylist()] == rows[start:]
    assert all([field.type for field in each.schema] == [field.type for field in PLAIN] for each in found)


def refusal(rows: list[dict[str, object]], **limits: int) -> str:
    with pytest.raises(LimitError) as caught:
        list(DecodedRows("a", 100, Limits(**limits)).of(iter([pa.RecordBatch.from_pylist(rows, schema=CODED)])))
    return caught.value.code


def test_rejects_too_long_texts_rows_and_files() -> None:
    assert refusal([{"text": "a" * 101}], document_bytes=100) == "limit-record"
    assert refusal([{"notes": [["abc"] * 30]}], document_bytes=100) == "limit-record"
    assert refusal([{"spans": [{"n": 1}] * 2_000}] * 2, ratio=1, ratio_grace_bytes=40_000) == "limit-ratio"


def test_batches_are_small() -> None:
    batch = pa.RecordBatch.from_pylist([{"text": "a" * 1_000_000}] * 20 + [{"text": ""}] * 300, schema=CODED)
    found = list(DecodedRows("a", 10**6, Limits()).of(iter([batch])))
    assert [each.num_rows for each in found] == [8, 8, 256, 48]


@pytest.mark.parametrize("number", [1, -1])
def test_rejects_dictionary_indices_out_of_range(number: int) -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([0, number], pa.int32()), pa.array(["fever"]), safe=False)
    with pytest.raises(InputError, match="parquet-malformed"):
        list(DecodedRows("a", 10**6, Limits()).of(iter([pa.RecordBatch.from_arrays([words], names=["text"])])))
