"""Tests of selecting the files of a release for a reader."""

from __future__ import annotations

from onym.kb.readers._shared import head, matching_files
from onym.store.files.source import InputFile


def test_head_skips_byte_order_mark_and_whitespace() -> None:
    assert head(InputFile.from_bytes("a", b"\xef\xbb\xbf \n {}")) == b"{}"
    assert len(head(InputFile.from_bytes("a", b"x" * 200_000))) == 65_536


def test_all_files_are_returned_if_none_looks_right() -> None:
    files = [InputFile.from_bytes(name, b"") for name in ("a", "b", "c")]
    assert [file.name for file in matching_files(files, lambda file: file.name != "b")] == ["a", "c"]
    assert matching_files(files, lambda _: False) == files
    assert matching_files([], lambda _: True) == []
