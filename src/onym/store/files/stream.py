"""Opens untrusted regular files: detects and decompresses gzip and zstd, and counts and hashes the bytes read."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
from collections.abc import Callable
from io import BufferedReader, FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from onym.errors import InputError, LimitError
from onym.store.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    import pyarrow as pa

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 256 * 1024


class InputStream(io.RawIOBase):
    """The decompressed bytes of a file, read within limits.

    `digest` is the SHA-256 of the file on disk (compressed).
    """

    def __init__(self, raw: BinaryIO, name: str, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__()
        self.name = name
        self._limits = limits
        self._raw = _HashedFile(raw, name)
        self._codec = _codec_of(self._raw.peek(5))
        self._unpacked = 0
        self._file = _decompress(self._raw, self._codec) if self._codec else None

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Return up to `size` bytes; if negative, all remaining bytes within the limits."""
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(_CHUNK), b""))
        data = self._read_some(size)
        self._unpacked += len(data)
        self._require_within_limits()
        return data

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Read into `buffer` and return the number of bytes read."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the underlying file."""
        self._raw.close()
        super().close()

    def digest(self) -> str:
        """Return the SHA-256 of the file on disk, after reading its remaining bytes."""
        while self._raw.read(_CHUNK):
            pass
        return self._raw.sha256.hexdigest()

    @property
    def bytes_on_disk(self) -> int:
        """Number of (compressed) bytes read from disk so far."""
        return self._raw.count

    def _read_some(self, size: int) -> bytes:
        try:
            # When `read` fails, Arrow leaks the buffer that it allocated; `read_buffer` does not.
            return self._raw.read(size) if self._file is None else bytes(self._file.read_buffer(size).to_pybytes())
        except InputError:
            raise
        except OSError as e:
            what = f"the {self._codec or 'plain'} data is damaged or truncated"
            raise InputError("input-corrupt", what, where=self._where(), fix="fetch the file again") from e

    def _require_within_limits(self) -> None:
        if self._unpacked > self._limits.unpacked_bytes:
            what = f"more than {self._limits.unpacked_bytes:,} bytes unpacked"
            raise LimitError("limit-unpacked", what, where=self._where(), fix="raise Limits.unpacked_bytes")
        beyond_grace = self._codec and self._unpacked > self._limits.ratio_grace_bytes
        if beyond_grace and self._unpacked > self._limits.ratio * max(1, self._raw.count):
            what = f"unpacks to more than {self._limits.ratio} times its size, as a decompression bomb does"
            raise LimitError("limit-ratio", what, where=self._where(), fix="if you trust the file, unpack it yourself")

    def _where(self) -> str:
        return f"{self.name} (byte {self._unpacked:,})"


class _HashedFile(io.RawIOBase):
    """A raw file that hashes and counts the bytes read, and allows the first bytes to be read in advance."""

    def __init__(self, raw: BinaryIO, name: str) -> None:
        super().__init__()
        self.sha256 = hashlib.sha256()
        self.count = 0
        self._name = name
        self._raw = raw
        self._peeked = b""

    def readable(self) -> bool:
        return True

    def peek(self, size: int) -> bytes:
        self._peeked = self.read(size)
        return self._peeked

    def read(self, size: int | None = -1) -> bytes:
        wanted = _CHUNK if size is None or size < 0 else size
        first, self._peeked = self._peeked[:wanted], self._peeked[wanted:]
        data = _read_guarded(lambda: self._raw.read(wanted - len(first)), self._name)
        self.sha256.update(data)
        self.count += len(data)
        return first + data

    def close(self) -> None:
        self._raw.close()
        super().close()


def _read_guarded(read: Callable[[], bytes], name: str) -> bytes:
    try:
        return read()
    except OSError as e:
        raise InputError("input-unreadable", f"the file cannot be read: {e.strerror or e}", where=name) from e


def _codec_of(head: bytes) -> str:
    """Detect the compression by the first bytes: gzip, zstd, or "" if uncompressed or if the header is invalid.

    >>> _codec_of(b"\\x1f\\x8b\\x08\\x00"), _codec_of(b"\\x1f\\x8b\\x1f\\x8b"), _codec_of(b"id,name")
    ('gzip', '', '')
    """
    if head.startswith(_GZIP):  # RFC 1952: the only method is 8, and three flags are reserved
        return "gzip" if head[2:3] in (b"", b"\x08") and not (head[3:4] or b"\x00")[0] & 0xE0 else ""
    if head.startswith(_ZSTD):  # RFC 8878: one bit of the descriptor is reserved
        return "" if (head[4:5] or b"\x00")[0] & 0x08 else "zstd"
    return ""


def _decompress(raw: _HashedFile, codec: str) -> pa.NativeFile:
    # Arrow's codecs bound each read, join concatenated members, and detect truncated streams.
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), codec)


SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Error numbers for too many open files and no memory: the file itself is not at fault."""


class RegularFile(FileIO):
    """A file that is closed when garbage-collected, because archives must stay open as long as a member is referenced."""

    def __del__(self) -> None:
        self.close()


def open_regular(path: Path) -> RegularFile:
    """Open a regular file for reading, unbuffered; raise OSError for anything else.

    >>> open_regular(Path("/dev/null"))
    Traceback (most recent call last):
        ...
    OSError: [Errno 22] not a regular file
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(22, "not a regular file")
    return RegularFile(descriptor)


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Return the content of a regular file, at most its first `max_bytes` bytes.

    >>> path = getfixture("tmp_path") / "config.json"
    >>> _ = path.write_text("{}")
    >>> read_regular(path, 100), read_regular(path, 1)
    (b'{}', b'{')
    """
    try:
        with BufferedReader(open_regular(path)) as file:
            return file.read(max_bytes)
    except FileNotFoundError as e:
        raise InputError("input-missing", "no such file", where=str(path), fix="check the path") from e
    except OSError as e:
        raise InputError("input-unreadable", f"the file cannot be read: {e.strerror or e}", where=str(path)) from e


def is_there(path: Path) -> bool:
    """Return whether the path exists, even as a broken link. Unlike Path.exists, raise other OSErrors, such as disk failures.

    >>> is_there(getfixture("tmp_path")), is_there(getfixture("tmp_path") / "none")
    (True, False)
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
