"""Ranges of large files of lines, so that several processes can read parts of one. A range begins where a line does."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

from onym.store.files.input_file import InputFile
from onym.store.limits import MIB


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A part of a file: from where to where, the number of lines with content before it, and the SHA-256 of its bytes."""

    start: int
    end: int
    lines_before: int
    digest: str


def line_ranges(file: InputFile, size: int) -> list[ByteRange]:
    """Cut a file that is not packed into ranges of about `size` bytes, each of whole lines.

    >>> file = InputFile.from_bytes("a.jsonl", b'{"id": 1}\\n\\n{"id": 2}\\n{"id": 3}')
    >>> [(each.start, each.end, each.lines_before) for each in line_ranges(file, 12)]
    [(0, 21, 0), (21, 30, 2)]
    """
    with io.BufferedReader(file.opener(), MIB) as lines:  # type: ignore[type-var]
        return list(_ranges(lines, size))


def range_of(file: InputFile, start: int, end: int) -> InputFile:
    """Return a part of a file as a file of its own.

    >>> file = InputFile.from_bytes("a.txt", b"one two")
    >>> range_of(file, 4, 7).head(10)
    b'two'
    """

    def opener() -> BinaryIO:
        return io.BufferedReader(_Range(file.opener(), start, end))

    return replace(file, opener=opener, size=end - start, _read_digests=[], _tiny=[])


def _ranges(file: BinaryIO, size: int) -> Iterator[ByteRange]:
    start = offset = lines = before = 0
    digest = hashlib.sha256()
    for line in file:
        offset += len(line)
        lines += bool(line.strip())
        digest.update(line)
        if offset - start >= size:
            yield ByteRange(start, offset, before, digest.hexdigest())
            start, before, digest = offset, lines, hashlib.sha256()
    if offset > start:
        yield ByteRange(start, offset, before, digest.hexdigest())


class _Range(io.RawIOBase):
    """Some bytes of a file, as if they were all of it."""

    def __init__(self, file: BinaryIO, start: int, end: int) -> None:
        self._file, self._left = file, end - start
        file.seek(start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._file.read(min(len(view), self._left))
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
