"""Tests of reading structs of Thrift's compact protocol."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.store.guards.parquet import ThriftError, ThriftReader, TooManyStructsError
from tests.robustness.files.parquet_bytes import BINARY, I32, LIST, STRUCT, fields, members, text, zigzag


def test_reads_numbers_texts_and_structs_and_skips_lists() -> None:
    inner = fields((1, I32, zigzag(-300)), (15, I32, zigzag(70_000)))
    lists = [(3, LIST, members(I32, [zigzag(1)] * 20)), (4, LIST, members(STRUCT, [inner] * 3))]
    data = fields(
        (1, BINARY, text(b"abc")), (2, STRUCT, inner), *lists, (9, 1, b""), (10, 2, b""), (11, 7, bytes(8)), (12, 3, b"a")
    )
    reader = ThriftReader(data + b"more")
    found = reader.struct()
    assert found == {
        1: b"abc", 2: {1: -300, 15: 70_000}, 3: None, 4: None, 9: True, 10: False, 11: None, 12: None
    }  # fmt: skip
    assert reader.position == len(data)


def test_reads_long_form_field_ids() -> None:
    assert ThriftReader(bytes([I32]) + zigzag(1000) + zigzag(5) + b"\0").struct() == {1000: 5}


@pytest.mark.parametrize(
    "data", [b"", b"\x15", b"\x15\x80", b"\x18\x05ab", b"\x1b\x00", b"\x15" + b"\xff" * 12, b"\x1c" * 30 + bytes(30)]
)
def test_rejects_incomplete_structs(data: bytes) -> None:
    with pytest.raises(ThriftError):
        ThriftReader(data).struct()
    with pytest.raises(ThriftError):
        ThriftReader(data).require_few(10, 2)


def test_counts_structs_up_to_a_depth() -> None:
    chunk = fields((1, STRUCT, fields()))
    groups = [fields((1, LIST, members(STRUCT, [chunk] * 4)))] * 3
    data = fields((4, LIST, members(STRUCT, groups)), (5, LIST, members(1, [b"\1"] * 20)))
    ThriftReader(data).require_few(3 + 12, 2)
    ThriftReader(data).require_few(3, 1)
    for limit, down_to in ((14, 2), (2, 1), (15, 3)):
        with pytest.raises(TooManyStructsError):
            ThriftReader(data).require_few(limit, down_to)


def test_rejects_deeply_nested_lists() -> None:
    with pytest.raises(ThriftError):
        ThriftReader(fields((2, LIST, b"\x19" * 5_000))).require_few(10, 2)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_struct_or_a_thrift_error(data: bytes) -> None:
    for read in (ThriftReader(data).struct, lambda: ThriftReader(data).require_few(5, 2)):
        with suppress(ThriftError):
            read()
