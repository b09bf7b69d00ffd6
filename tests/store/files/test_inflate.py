"""Tests of decompressing zlib streams within size limits."""

from __future__ import annotations

import zlib

import pytest

from onym.errors import InputError, LimitError
from onym.store.files.source import InputFile
from onym.store.guards.msgpack import inflate, inflate_first_bytes
from onym.store.limits import Limits

DATA = bytes(range(256)) * 4000


def inflate_bytes(data: bytes, limit: int = 10_000_000, limits: Limits | None = None) -> bytes:
    return bytes(inflate(InputFile.from_bytes("a.spacy", data, limits or Limits()), limit))


@pytest.mark.parametrize("level", [0, 1, 9])
def test_round_trip(level: int) -> None:
    assert inflate_bytes(zlib.compress(DATA, level)) == DATA


@pytest.mark.parametrize("bad", [b"", b"fever", zlib.compress(DATA)[:-3], zlib.compress(DATA) + b"x", b"\x78\x9c" + bytes(9)])
def test_rejects_damaged_data(bad: bytes) -> None:
    with pytest.raises(InputError, match="docbin-malformed"):
        inflate_bytes(bad)


def test_rejects_a_stream_as_soon_as_it_is_too_long() -> None:
    with pytest.raises(LimitError, match="limit-record"):
        inflate_bytes(zlib.compress(DATA), len(DATA) - 1)
    assert len(inflate_bytes(zlib.compress(DATA), len(DATA))) == len(DATA)


def test_rejects_a_decompression_bomb() -> None:
    with pytest.raises(LimitError, match="limit-ratio"):
        inflate_bytes(zlib.compress(bytes(6_000_000)))
    assert len(inflate_bytes(zlib.compress(bytes(6_000_000)), limits=Limits(ratio=2000))) == 6_000_000


def test_inflates_only_the_first_bytes() -> None:
    assert inflate_first_bytes(zlib.compress(DATA)[:200], 16) == DATA[:16]
    assert inflate_first_bytes(b"not packed", 16) == b""
