"""Which files of a release a reader takes."""

from __future__ import annotations

from onym.kb.readers._shared import head, matching_files
from onym.store.files.source import InputFile


def test_the_head_begins_with_what_is_written() -> None:
    assert head(InputFile.from_bytes("a", b"\xef\xbb\xbf \n {}")) == b"{}"
    assert len(head(InputFile.from_bytes("a", b"x" * 200_000))) == 65_536


def test_files_that_look_right_or_all() -> None:
    files = [InputFile.from_bytes(name, b"") for name in ("a", "b", "c")]
    assert [file.name for file in matching_files(files, lambda file: file.name != "b")] == ["a", "c"]
    assert matching_files(files, lambda _: False) == files
    assert matching_files([], lambda _: True) == []
