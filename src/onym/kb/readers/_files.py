"""Which files of a release a reader takes: those that look right by their first bytes."""

from __future__ import annotations

from collections.abc import Callable

from onym.store.files.source import InputFile

_HEAD = 64 * 1024


def head(file: InputFile) -> bytes:
    """Return the first bytes of a file, without a byte order mark and leading white space."""
    return file.head(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()


def matching_files(files: list[InputFile], looks_right: Callable[[InputFile], bool]) -> list[InputFile]:
    """Return the files that look right; all of them where none does, so that reading says what is wrong with them."""
    return [file for file in files if looks_right(file)] or files
