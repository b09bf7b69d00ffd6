"""An input file: a path, bytes in memory, or a member of an archive."""

from __future__ import annotations

import hashlib
import io
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from onym.errors import InputError
from onym.store.files.stream import InputStream, open_regular
from onym.store.limits import DEFAULT_LIMITS, KIB, MIB, Limits

_TINY = 1 * KIB  # `head` keeps the content of files smaller than this in memory


@dataclass(frozen=True)
class InputFile:
    """A file of a release or corpus, which can be opened repeatedly. `name` is relative to the folder or archive.

    >>> with InputFile.from_bytes("a.txt", b"one\\ntwo\\n").open() as stream:
    ...     stream.read()
    b'one\\ntwo\\n'
    """

    name: str
    opener: Callable[[], BinaryIO] = field(repr=False)
    size: int
    limits: Limits = field(default=DEFAULT_LIMITS, repr=False)
    _read_digests: list[str] = field(default_factory=list, repr=False, compare=False)
    _tiny: list[bytes] = field(default_factory=list, repr=False, compare=False)
    _streams: list[InputStream] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def from_bytes(cls, name: str, data: bytes, limits: Limits = DEFAULT_LIMITS) -> InputFile:
        """Make an input file from bytes in memory."""
        return cls(name, lambda: io.BytesIO(data), len(data), limits)

    @classmethod
    def from_path(cls, path: Path, name: str | None = None, limits: Limits = DEFAULT_LIMITS) -> InputFile:
        """Make an input file from a path; raise InputError unless it is a regular file."""
        try:
            status = path.stat()
        except (OSError, ValueError) as e:
            raise InputError("input-missing", "no such file", where=str(path), fix="check the path") from e
        if not stat.S_ISREG(status.st_mode):
            raise InputError("input-missing", "not a regular file", where=str(path), fix="give the path of a file or a folder")
        return cls(name or path.name, lambda: open_regular(path), status.st_size, limits)

    @contextmanager
    def open(self, *, peek: bool = False) -> Iterator[InputStream]:
        """Open the file for reading, decompressing gzip and zstd. With `peek`, `was_read` stays unchanged."""
        try:
            raw = self.opener()
        except OSError as e:
            raise InputError("input-unreadable", f"the file cannot be opened: {e.strerror or e}", where=self.name) from e
        with raw:
            stream = InputStream(raw, self.name, self.limits)
            self._streams.append(stream)
            try:
                yield stream
            finally:
                self._streams.remove(stream)
                is_read = (
                    stream.bytes_on_disk == self.size and not raw.closed
                )  # `raw` may be closed already: the garbage collector closes files in any order
                if is_read and not peek and not self._read_digests:
                    self._read_digests.append(stream.digest())
                stream.close()

    def head(self, size: int) -> bytes:
        """Return the first `size` decompressed bytes. Tiny files are cached, because opening archive members is slow."""
        if not self._tiny:
            with self.open(peek=True) as stream:
                data = stream.read(size)
            if len(data) < min(size, _TINY):
                self._tiny.append(data)
            return data
        return self._tiny[0][:size]

    @property
    def bytes_read(self) -> int:
        """Number of (compressed) bytes read from disk so far; 0 if the file is not open.

        >>> file = InputFile.from_bytes("a.txt", b"one two")
        >>> with file.open() as stream:
        ...     _, far = stream.read(5), file.bytes_read
        >>> far, file.bytes_read
        (5, 0)
        """
        return max((stream.bytes_on_disk for stream in self._streams), default=0)

    def drain(self) -> None:
        """Read the remaining bytes of the open file without decompressing them, so that its digest is known."""
        for stream in self._streams:
            stream.digest()

    @property
    def was_read(self) -> bool:
        """True once the file has been read to its end. Reading with `head` or `peek` does not count."""
        return bool(self._read_digests)

    def digest(self) -> str:
        """Return the SHA-256 of the file on disk. If the file was read to its end before, use the bytes that were read then."""
        if not self._read_digests:
            with self.open() as stream:
                return stream.digest()
        return self._read_digests[0]

    @cached_property
    def stem(self) -> str:
        """The file's base name without `.gz` or `.zst`, in lower case."""
        return self.name.rpartition("/")[2].lower().removesuffix(".gz").removesuffix(".zst")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A byte range of a file, with the number of non-blank lines before it and the SHA-256 of its bytes."""

    start: int
    end: int
    lines_before: int
    digest: str


def line_ranges(file: InputFile, size: int) -> list[ByteRange]:
    """Split an uncompressed file into ranges of whole lines, of about `size` bytes each.

    >>> file = InputFile.from_bytes("a.jsonl", b'{"id": 1}\\n\\n{"id": 2}\\n{"id": 3}')
    >>> [(each.start, each.end, each.lines_before) for each in line_ranges(file, 12)]
    [(0, 21, 0), (21, 30, 2)]
    """
    with io.BufferedReader(file.opener(), MIB) as lines:  # type: ignore[type-var]
        return list(_ranges(lines, size))


def range_of(file: InputFile, start: int, end: int) -> InputFile:
    """Return a byte range of a file as an input file.

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
    """A byte range of a file as a stream."""

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
