"""Reads text files of any size in bounded memory, by blocks of whole lines or line by line.

Releases are read in blocks, and an invalid line makes the whole file an error. Corpora are read line by line, and an invalid
line affects only its document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from onym.errors import InputError, LimitError, OnymError
from onym.store.files.source import InputFile

_BLOCK = 256 * 1024  # bytes per block; if lines are short, the parsed records take a hundred times as much memory
_CHUNK = 64 * 1024
NEWLINE = b"\n"
NUL = b"\x00"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of UTF-8, ending in a newline. `first_line` counts from 1."""

    data: bytes
    first_line: int
    file_name: str

    @property
    def where(self) -> str:
        """File name and line number of the block, for error messages."""
        return f"{self.file_name}:{self.first_line}"


def iter_blocks(file: InputFile) -> Iterator[Block]:
    """Yield the file in blocks of whole lines; a missing final newline is added.

    >>> [b.data for b in iter_blocks(InputFile.from_bytes("t.tsv", b"a\\tb\\nc\\td"))]
    [b'a\\tb\\nc\\td\\n']
    """
    size, pending, line = min(_BLOCK, file.limits.block_bytes), bytearray(), 1
    with file.open() as stream:
        while True:
            chunk = stream.read(size)
            pending += chunk
            if chunk and len(pending) < size:
                _require_newline(pending, line, file)
                continue
            if not chunk and pending and not pending.endswith(b"\n"):
                pending += b"\n"
            cut = pending.rfind(b"\n") + 1
            if cut:
                block = Block(_utf8(bytes(pending[:cut]), line, file), line, file.name)
                yield block
                line += block.data.count(b"\n")
                del pending[:cut]
            if not chunk:
                return
            _require_newline(pending, line, file)


class Line(NamedTuple):
    """A line without its newline. If the line is invalid, `error` is set and `text` may be cut off or have replacements."""

    number: int
    text: str
    error: OnymError | None = None


def iter_lines(file: InputFile) -> Iterator[Line]:
    """Yield the lines of a file. `error` is set for a line that is too long, contains a NUL byte or is not UTF-8.

    >>> file = InputFile.from_bytes("a.txt", b"one\\n\\xff\\ntwo")
    >>> [line.error.code if line.error else line.text for line in iter_lines(file)]
    ['one', 'input-encoding', 'two']
    """
    number, pending, limit = 1, bytearray(), file.limits.document_bytes
    with file.open() as stream:
        while chunk := stream.read(_CHUNK):
            first, newline, others = chunk.partition(NEWLINE)
            pending += first[: limit + 1 - len(pending)]
            if not newline:
                continue
            yield _line(number, bytes(pending), file)
            number += 1
            whole, newline, last = others.rpartition(NEWLINE)
            if newline:
                yield from _lines(number, whole, file)
                number += whole.count(NEWLINE) + 1
            pending = bytearray(last)
        if pending:
            yield _line(number, bytes(pending), file)


def iter_raw_lines(file: InputFile) -> Iterator[bytes]:
    """Yield the lines of a file as they are, with their line ends.

    >>> list(iter_raw_lines(InputFile.from_bytes("a.txt", b"one\\r\\n\\ntwo")))
    [b'one\\r\\n', b'\\n', b'two']
    """
    pending: list[bytes] = []
    with file.open() as stream:
        while chunk := stream.read(_CHUNK):
            *whole, last = chunk.split(NEWLINE)
            for line in whole:
                yield b"".join([*pending, line, NEWLINE])
                pending = []
            pending.append(last)
    if rest := b"".join(pending):
        yield rest


def _lines(number: int, data: bytes, file: InputFile) -> Iterator[Line]:
    """Yield the lines of a chunk. They are decoded together if all are valid, otherwise one by one."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if (text or not data) and NUL not in data and len(data) <= file.limits.document_bytes:
        return (Line(each, line) for each, line in enumerate(text.split("\n"), number))
    return (_line(each, line, file) for each, line in enumerate(data.split(NEWLINE), number))


def _line(number: int, data: bytes, file: InputFile) -> Line:
    data = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
    if len(data) > file.limits.document_bytes:
        what = f"a line is longer than {file.limits.document_bytes:,} bytes"
        error: OnymError = LimitError("limit-line", what, where=f"{file.name}:{number}")
        return Line(number, data[:_CHUNK].decode("utf-8", "replace"), error)
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        where = f"{file.name}:{number} (byte {e.start:,})"
        error = InputError("input-encoding", "not valid UTF-8", where=where, fix="convert the file to UTF-8")
        return Line(number, data.decode("utf-8", "replace"), error)
    if NUL in data:
        where = f"{file.name}:{number}"
        error = InputError("input-encoding", "the text contains a NUL byte", where=where, fix="fetch the file again")
        return Line(number, text, error)
    return Line(number, text)


def _require_newline(pending: bytearray, line: int, file: InputFile) -> None:
    if len(pending) > file.limits.line_bytes and b"\n" not in pending:
        what = f"a line is longer than {file.limits.line_bytes:,} bytes"
        raise LimitError("limit-line", what, where=f"{file.name}:{line}")


def _utf8(data: bytes, line: int, file: InputFile) -> bytes:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as e:
        where = f"{file.name}:{line + data.count(NEWLINE, 0, e.start)} (byte {e.start:,} of the block)"
        fix = "convert the file to UTF-8, for instance with iconv"
        raise InputError("input-encoding", "not valid UTF-8", where=where, fix=fix) from e
    if NUL in data:
        where = f"{file.name}:{line + data.count(NEWLINE, 0, data.index(NUL))}"
        raise InputError("input-encoding", "the text contains a NUL byte", where=where, fix="fetch the file again")
    return data.removeprefix(b"\xef\xbb\xbf") if line == 1 else data
