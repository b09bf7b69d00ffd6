"""Tests of reading valid, damaged and hostile msgpack."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError, LimitError, OnymError
from onym.store.guards.msgpack import MsgpackReader

ATOMS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=40)
VALUES = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=5), inner, max_size=20), max_leaves=60
)


def unpack(data: bytes, values: int = 100_000) -> Any:
    return MsgpackReader(data, "a.spacy", values=values).value()


@given(VALUES)
def test_reads_what_srsly_writes(value: Any) -> None:
    assert unpack(srsly.msgpack_dumps(value)) == value


@pytest.mark.parametrize("size", [0, 15, 16, 31, 32, 255, 256, 65_535, 65_536])
def test_reads_values_of_all_lengths(size: int) -> None:
    for value in ("x" * size, [1] * size, dict.fromkeys(range(size), True)):
        assert unpack(srsly.msgpack_dumps(value), 200_000) == value
    found = unpack(srsly.msgpack_dumps(b"\xff" * size))
    assert isinstance(found, memoryview)
    assert bytes(found) == b"\xff" * size


def test_keys_may_be_tuples_and_bytes() -> None:
    value = {("._.", "onym", 0, None): 1, b"nd": 2}
    assert unpack(srsly.msgpack_dumps(value)) == value


@pytest.mark.parametrize(
    "data", [b"\xd4\x01a", b"\xd8\x01" + bytes(16), b"\xc7\x03\x01abc", b"\xc8\x00\x01\x01a", b"\xc9\x00\x00\x00\x00\x01"]
)
def test_extensions_are_read_as_none(data: bytes) -> None:
    assert unpack(data) is None


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"\xc1",
        b"\xa5fev",
        b"\x01\x02",
        b"\xa1\xff",
        b"\xdd\xff\xff\xff\xff",
        b"\x81\x91\x80\x01",
        b"\x81\x80\x01",
        b"\xc6\xff\xff\xff\xff",
    ],
)
def test_rejects_damaged_data(bad: bytes) -> None:
    with pytest.raises(InputError, match="docbin-malformed"):
        unpack(bad)


@pytest.mark.parametrize("bad", [b"\x91" * 1000, b"\xdc\xff\xff" + b"\xc0" * 65_535, b"\x81\xa0" * 500])
def test_rejects_too_many_and_too_deeply_nested_values(bad: bytes) -> None:
    with pytest.raises(LimitError, match="limit-record"):
        unpack(bad, 50_000)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_value_or_an_error(data: bytes) -> None:
    with suppress(OnymError):
        unpack(data)
