"""Tests of reading plain, gzip and zstd files, and of rejecting truncated, changed and oversized files."""

from __future__ import annotations

import gzip
import hashlib
import io
import random
from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError, LimitError
from onym.store.files.stream import InputStream
from onym.store.limits import Limits


def zstd(data: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as file:
        file.write(data)
    return bytes(out.getvalue().to_pybytes())


PACKERS: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress, "zstd": zstd}
NOISE = random.Random(5).randbytes(50_000)
BEGINNINGS = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


def stream(data: bytes, limits: Limits | None = None) -> InputStream:
    return InputStream(io.BytesIO(data), "a.txt", limits or Limits())


def pieces(source: InputStream, sizes: list[int]) -> bytes:
    """Read to the end in chunks of the given sizes, cycling through them."""
    found, turn = b"", 0
    while data := source.read(sizes[turn % len(sizes)]):
        found += data
        turn += 1
    return found


@pytest.mark.parametrize("packer", PACKERS)
@given(data=st.binary(max_size=2000), sizes=st.lists(st.integers(1, 700), min_size=1, max_size=4))
def test_returns_the_same_bytes_for_any_compression_and_read_size(packer: str, data: bytes, sizes: list[int]) -> None:
    if packer == "plain" and data.startswith(BEGINNINGS):
        return
    packed = PACKERS[packer](data)
    with stream(packed) as unpacked:
        assert pieces(unpacked, sizes) == data
        assert unpacked.bytes_on_disk == len(packed)
        assert unpacked.digest() == hashlib.sha256(packed).hexdigest()
    with stream(packed) as unpacked:
        assert unpacked.read() == data


@pytest.mark.parametrize("packer", PACKERS)
def test_digest_covers_the_file_even_if_nothing_was_read(packer: str) -> None:
    packed = PACKERS[packer](NOISE)
    with stream(packed) as unpacked:
        unpacked.read(10)
        assert unpacked.digest() == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_joins_concatenated_members(packer: str) -> None:
    pack = PACKERS[packer]
    assert stream(pack(b"one ") + pack(b"two ") + pack(NOISE)).read() == b"one two " + NOISE


def test_lines_can_be_read_through_a_buffer() -> None:
    assert io.BufferedReader(stream(gzip.compress(b"a\nb\nc"))).readlines() == [b"a\n", b"b\n", b"c"]  # type: ignore[type-var]


@pytest.mark.parametrize("packer", ["gzip", "zstd"])
@pytest.mark.parametrize("left", [5, 20, 1_000, 49_000])
def test_rejects_a_truncated_file(packer: str, left: int) -> None:
    with pytest.raises(InputError, match="input-corrupt"):
        stream(PACKERS[packer](NOISE)[:left]).read()


@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_changed_byte_is_rejected_or_harmless(packer: str) -> None:
    packed, rng = PACKERS[packer](NOISE), random.Random(7)
    for _ in range(60):
        offset = rng.randrange(4, len(packed))
        changed = packed[:offset] + bytes([packed[offset] ^ rng.randrange(1, 256)]) + packed[offset + 1 :]
        with suppress(InputError, LimitError):
            # The change is not detected in this zstd frame, which has no checksum.
            assert stream(changed).read() == NOISE or packer == "zstd"


@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_rejects_a_bomb_beyond_the_grace_size(packer: str) -> None:
    limits = Limits(ratio=10, ratio_grace_bytes=50_000)
    packed = PACKERS[packer](bytes(1_000_000))
    unpacked = stream(packed, limits)
    assert sum(len(unpacked.read(1_000)) for _ in range(50)) == 50_000
    with pytest.raises(LimitError, match="limit-ratio"):
        pieces(unpacked, [1_000])
    assert stream(PACKERS[packer](bytes(50_000)), limits).read() == bytes(50_000)


def test_plain_files_have_no_ratio_limit() -> None:
    assert len(stream(bytes(1_000_000), Limits(ratio=1, ratio_grace_bytes=0)).read()) == 1_000_000


def test_rejects_too_many_unpacked_bytes() -> None:
    assert stream(b"x" * 100, Limits(unpacked_bytes=100)).read() == b"x" * 100
    with pytest.raises(LimitError, match="limit-unpacked"):
        stream(gzip.compress(b"x" * 101), Limits(unpacked_bytes=100)).read()


class Broken(io.RawIOBase):
    """A file that raises an I/O error after its first bytes."""

    def __init__(self, head: bytes) -> None:
        super().__init__()
        self._head = head

    def read(self, size: int = -1) -> bytes:
        data, self._head = self._head[:size], self._head[size:]
        if not data:
            raise OSError(5, "Input/output error")
        return data


@pytest.mark.parametrize("head", [b"plain text", gzip.compress(NOISE)[:5_000]])
def test_disk_error_raises_a_coded_error(head: bytes) -> None:
    with pytest.raises(InputError) as caught:
        InputStream(Broken(head), "a.txt").read()  # type: ignore[arg-type]
    assert caught.value.code in ("input-unreadable", "input-corrupt")
    assert "a.txt" in caught.value.where


def test_closing_closes_the_file() -> None:
    raw = io.BytesIO(gzip.compress(b"abc"))
    InputStream(raw, "a").close()
    assert raw.closed


@pytest.mark.parametrize("data", [b"\x1f\x8b\x1f\x8b\n", b"\x1f\x8b\x08\xe0\n", b"\x28\xb5\x2f\xfd\x28\n"])
def test_invalid_header_after_the_magic_means_plain(data: bytes) -> None:
    assert InputStream(io.BytesIO(data), "a").read() == data
