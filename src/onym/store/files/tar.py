"""The door to tar archives: members are read as streams, forwards, never unpacked to disk.

Names that lead out, links, devices, sparse files and damaged headers are refused.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from typing import BinaryIO, Self, TypeVar, cast

from onym.errors import InputError, OnymError
from onym.store.files.input_file import InputFile
from onym.store.files.member import require_few, require_safe_name
from onym.store.limits import KIB, Limits

T = TypeVar("T")
_HEADER = 64 * KIB  # of a long name or of extended attributes, which tarfile reads whole
_EXTENDED = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip
_SKIP = 256 * KIB


def is_tar(head: bytes) -> bool:
    """Tell whether a file is a tar archive, by its first 512 bytes, unpacked."""
    return head[257:262] == b"ustar"


def tar_files(file: InputFile, limits: Limits) -> Iterator[InputFile]:
    """Yield the members in their order in the archive, so that one pass serves whoever reads them one after the other."""
    count, passes = 0, _Passes(file)
    with file.open() as stream:
        archive = _guard(lambda: tarfile.open(fileobj=stream, mode="r|", tarinfo=_Info), file)  # noqa: SIM115
        while (member := _guard(archive.next, file)) is not None:
            count += 1
            require_few(count, file.name, limits)
            archive.members.clear()  # type: ignore[attr-defined]  # it would keep them all
            if member.isdir():
                continue
            require_safe_name(member.name, file.name)
            if not member.isreg() or member.issparse():
                what = "the archive holds a link, a device or a sparse file"
                raise InputError("archive-path", what, where=f"{file.name}: {member.name}")
            if member.size < 0:
                raise InputError("archive-corrupt", "not a whole tar archive", where=file.name, fix="fetch it again")
            yield InputFile(member.name, _opener(passes, member), member.size, limits)
        while stream.read(_SKIP):  # to the end, where a packed file has its sum
            pass


def _opener(passes: _Passes, member: tarfile.TarInfo) -> Callable[[], BinaryIO]:
    offset, size = member.offset_data, member.size
    return lambda: cast("BinaryIO", _Member(passes, offset, size))


class _Info(tarfile.TarInfo):
    """A header.

    A damaged or a missing one is refused, where tarfile would take it for the end of the archive; so is one that
    announces a longer header than any genuine one, before that is read.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            info = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as e:
            if len(buf) == tarfile.BLOCKSIZE and not any(buf):
                raise  # the end
            raise tarfile.ReadError("a damaged header") from e
        if info.type in _EXTENDED and not 0 <= info.size <= _HEADER:
            raise tarfile.ReadError("a header too long")
        return info


class _Passes:
    """The unpacked bytes of a tar archive, read forwards; a pass is handed on to the next member that lies ahead."""

    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._idle: _Pass | None = None

    def at(self, offset: int) -> _Pass:
        found, self._idle = self._idle, None
        if found is not None and found.offset > offset:
            found.close()
            found = None
        found = found or _Pass(self._file)
        found.skip_to(offset)
        return found

    def give_back(self, used: _Pass) -> None:
        if self._idle is not None:
            self._idle.close()
        self._idle = used

    def __del__(self) -> None:
        if self._idle is not None:
            self._idle.close()


class _Pass:
    def __init__(self, file: InputFile) -> None:
        self._file, self._context = file, file.open()
        self._stream = self._context.__enter__()
        self.offset = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.offset += len(data)
        if size and not data:
            raise InputError("archive-corrupt", "the archive is cut short", where=self._file.name, fix="fetch it again")
        return data

    def skip_to(self, offset: int) -> None:
        while self.offset < offset:
            self.read(min(_SKIP, offset - self.offset))

    def close(self) -> None:
        self._context.__exit__(None, None, None)


class _Member(io.RawIOBase):
    """One member as a stream."""

    def __init__(self, passes: _Passes, offset: int, size: int) -> None:
        super().__init__()
        self._passes, self._left = passes, size
        self._pass = passes.at(offset)

    def read(self, size: int | None = -1) -> bytes:
        data = self._pass.read(self._left if size is None or size < 0 else min(size, self._left))
        self._left -= len(data)
        return data

    def close(self) -> None:
        if not self.closed:
            self._passes.give_back(self._pass)
        super().close()


def _guard(act: Callable[[], T], file: InputFile) -> T:
    try:
        return act()
    except OnymError:
        raise
    except Exception as e:  # tarfile leaks value, overflow, Unicode and recursion errors of damaged headers
        raise InputError("archive-corrupt", "not a whole tar archive", where=file.name, fix="fetch it again") from e
