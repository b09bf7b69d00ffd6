"""Tests of reading a source from standard input."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from onym.errors import InputError
from onym.store.files.source import spool
from tests.store.archives import zip_of


def test_spooled_input_can_be_read_twice_and_is_removed() -> None:
    with spool(io.BytesIO(b"one\r\ntwo")) as source:
        (file,) = source.files
        for _ in range(2):
            with file.open() as stream:
                assert stream.read() == b"one\r\ntwo"
    with pytest.raises(InputError, match="input-unreadable"), file.open():
        pass


def test_opens_an_archive_from_stdin(tmp_path: Path) -> None:
    data = zip_of(tmp_path / "a.zip", {"a/1.txt": b"fever", "b/2.txt": b""}).read_bytes()
    with spool(io.BytesIO(data)) as source:
        assert [file.name for file in source.files] == ["a/1.txt", "b/2.txt"]


def test_empty_stdin_is_an_empty_file() -> None:
    with spool(io.BytesIO()) as source:
        assert [file.size for file in source.files] == [0]
