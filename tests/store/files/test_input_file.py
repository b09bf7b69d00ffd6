"""Tests of input files: paths, bytes and archive members."""

from __future__ import annotations

import gzip
import hashlib
import io
from pathlib import Path

import pytest

from onym.errors import InputError
from onym.store.files.input_file import InputFile
from tests.store.archives import folder_of


def test_was_read_is_set_at_the_end_of_the_file(tmp_path: Path) -> None:
    file = InputFile.from_path(folder_of(tmp_path, {"a": b"x" * 5000}) / "a")
    with file.open() as stream:
        stream.read(10)
    before = file.was_read
    with file.open() as stream:
        stream.read()
    assert (before, file.was_read) == (False, True)
    (tmp_path / "a").write_bytes(b"changed")
    assert file.digest() == hashlib.sha256(b"x" * 5000).hexdigest()  # the digest covers the bytes that were read


@pytest.mark.parametrize("size", [3, 2_000])
def test_head_returns_the_first_bytes(size: int) -> None:
    data = bytes(range(1, 251)) * 20
    file = InputFile.from_bytes("a", gzip.compress(data[:size]))
    assert [file.head(length) for length in (2, 64, 10_000, 2)] == [data[:2], data[: min(64, size)], data[:size], data[:2]]


def test_removed_file_raises_a_coded_error(tmp_path: Path) -> None:
    file = InputFile.from_path(folder_of(tmp_path, {"a": b"x"}) / "a")
    (tmp_path / "a").unlink()
    with pytest.raises(InputError, match="input-unreadable"), file.open():
        pass


def test_garbage_collection_in_any_order_raises_nothing() -> None:
    raw = io.BytesIO(b"x" * 100)
    file = InputFile("a", lambda: raw, 100)
    reading = file.open()
    stream = reading.__enter__()
    assert stream.read() == b"x" * 100
    raw.close()
    reading.__exit__(None, None, None)
    assert not file.was_read
