"""Which files of a corpus a format takes, and their lines and texts."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from onym.errors import InputError, LimitError
from onym.store.files.lines import iter_blocks
from onym.store.files.source import InputFile, Source

_HEAD = 16 * 1024
_ENOUGH = 20  # files to look at before a folder is taken for another format
_IN_NAMES = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-#")
_ESCAPED = re.compile(r"%([0-9A-F]{2})")
_MAX_NAME = 200
_LEFT_ASIDE = ("readme", "license", "licence", "provenance", ".ds_store", "annotation.conf", "visual.conf")


def head(file: InputFile) -> bytes:
    """Return the first bytes of a file, without a byte order mark and leading white space."""
    with file.open() as stream:
        data = b""
        while len(data) < _HEAD and (more := stream.read(_HEAD - len(data))):
            data += more
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()


def candidates(source: Source) -> list[InputFile]:
    """Return the files that may hold documents."""
    return [file for file in source.files if not file.stem.startswith(_LEFT_ASIDE)]


def any_looks(source: Source, looks_right: Callable[[InputFile], bool]) -> bool:
    """Tell whether one of the first files looks right."""
    return any(looks_right(file) for file in candidates(source)[:_ENOUGH])


def matching_files(source: Source, looks_right: Callable[[InputFile], bool]) -> list[InputFile]:
    """Return the files that look right; all of them where none does, so that reading says what is wrong with them."""
    files = candidates(source)
    return [file for file in files if looks_right(file)] or files


def iter_lines(file: InputFile) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, without the ends of lines."""
    for block in iter_blocks(file):
        lines = block.data.decode("utf-8").split("\n")
        for number, line in enumerate(lines[:-1], block.first_line):
            yield number, line.removesuffix("\r")


def require_few_lines(lines: int, file: InputFile, number: int) -> None:
    """Refuse a document of more lines than one may have; `number` is that of the last."""
    if lines > file.limits.document_lines:
        what = f"a document has more than {file.limits.document_lines:,} lines"
        raise LimitError("limit-record", what, where=f"{file.name}:{number}")


def from_latin1(file: InputFile) -> InputFile:
    """Return a file in ISO-8859-1 as one in UTF-8.

    >>> [line for _, line in iter_lines(from_latin1(InputFile.from_bytes("a.txt", b"caf\\xe9")))]
    ['caf\xe9']
    """
    return InputFile(file.name, lambda: cast("BinaryIO", _Recoded(file)), -1, file.limits)


class _Recoded(io.RawIOBase):
    """The unpacked bytes of a file in ISO-8859-1, as UTF-8."""

    def __init__(self, file: InputFile) -> None:
        super().__init__()
        self._context = file.open()
        self._stream = self._context.__enter__()

    def read(self, size: int | None = -1) -> bytes:
        wanted = -1 if size is None or size < 0 else max(1, size // 2)  # a byte becomes two at most
        return self._stream.read(wanted).decode("latin-1").encode()

    def close(self) -> None:
        if not self.closed:
            self._context.__exit__(None, None, None)
        super().close()


def whole_text(file: InputFile) -> str:
    """Return a file's text exactly as it is, within limits."""
    limit, data = file.limits.document_bytes, bytearray()
    with file.open() as stream:
        while more := stream.read(64 * 1024):
            data += more
            if len(data) > limit:
                raise LimitError("limit-record", f"a document is longer than {limit:,} bytes", where=file.name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        where = f"{file.name} (byte {e.start:,})"
        raise InputError("input-encoding", "not valid UTF-8", where=where, fix="convert the file to UTF-8") from e


def file_name(document_id: str) -> str:
    """Return a document's id as the stem of a file's name: what could mean something to a file system is escaped.

    >>> file_name("PMC12.1"), file_name("../a b")
    ('PMC12.1', '%2E.%2Fa%20b')
    """
    escaped = "".join(char if char in _IN_NAMES else _escaped(char) for char in document_id)
    if escaped.startswith("."):
        escaped = "%2E" + escaped[1:]
    if len(escaped) > _MAX_NAME:
        return f"{escaped[:150]}~{hashlib.sha256(document_id.encode()).hexdigest()[:16]}"
    return escaped or "%"


def id_of_file(file: InputFile) -> str:
    """Return the id of a document that is a file of its own.

    >>> id_of_file(InputFile.from_bytes("a/%2E.%2Fa%20b.txt", b""))
    '../a b'
    """
    stem = PurePosixPath(file.name).name
    for suffix in (".gz", ".zst", ".txt", ".ann"):
        stem = stem.removesuffix(suffix)
    if stem == "%":
        return ""
    try:
        return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), stem).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return stem  # not a name that was escaped here


def _escaped(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())
