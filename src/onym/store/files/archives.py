"""Reads untrusted tar and zip archives. Members are read as streams and never unpacked to disk.

Member names that lead out of the archive, links, devices, sparse files and damaged headers are rejected.
"""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Self, TypeVar, cast

from onym.errors import InputError, LimitError, OnymError
from onym.store.files.input_file import InputFile
from onym.store.files.stream import open_regular
from onym.store.limits import KIB, MIB, Limits


def require_few(count: int, where: str, limits: Limits) -> None:
    """Raise LimitError if there are more files than allowed."""
    if count > limits.archive_members:
        raise too_many(where, limits)


def too_many(where: str, limits: Limits) -> LimitError:
    """Build the error for too many files."""
    return LimitError("limit-members", f"more than {limits.archive_members:,} files in the archive or folder", where=where)


def require_safe_name(name: str, where: str) -> None:
    """Reject a member name that leads out of the archive on any operating system."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0] or "\x00" in name or not name:
        raise InputError("archive-path", "a member's name leads out of the archive", where=f"{where}: {name}")


T = TypeVar("T")
_HEADER = 64 * KIB  # maximum bytes of a long name or of extended attributes, which tarfile reads into memory
_EXTENDED = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip
_SKIP = 256 * KIB


def is_tar(head: bytes) -> bool:
    """Return whether a file is a tar archive, by its first 512 decompressed bytes."""
    return head[257:262] == b"ustar"


def tar_files(file: InputFile, limits: Limits) -> Iterator[InputFile]:
    """Yield the members in archive order, so that reading them one after the other takes a single pass."""
    count, passes = 0, _Passes(file)
    with file.open() as stream:
        archive = _guard(lambda: tarfile.open(fileobj=stream, mode="r|", tarinfo=_Info), file)  # noqa: SIM115
        while (member := _guard(archive.next, file)) is not None:
            count += 1
            require_few(count, file.name, limits)
            archive.members.clear()  # type: ignore[attr-defined]  # tarfile would keep all members in memory
            if member.isdir():
                continue
            require_safe_name(member.name, file.name)
            if not member.isreg() or member.issparse():
                what = "the archive contains a link, a device or a sparse file"
                raise InputError("archive-path", what, where=f"{file.name}: {member.name}")
            if member.size < 0:
                raise InputError("archive-corrupt", "damaged tar archive", where=file.name, fix="re-download the archive")
            yield InputFile(member.name, _tar_opener(passes, member), member.size, limits)
        while stream.read(_SKIP):  # read to the end, because the checksum of a compressed file is there
            pass


def _tar_opener(passes: _Passes, member: tarfile.TarInfo) -> Callable[[], BinaryIO]:
    offset, size = member.offset_data, member.size
    return lambda: cast("BinaryIO", _TarMember(passes, offset, size))


class _Info(tarfile.TarInfo):
    """A tar header.

    Raises for a damaged or missing header, because tarfile would treat it as the end of the archive. Raises for an extended
    header that is implausibly long, before tarfile reads it into memory.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            info = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as e:
            if len(buf) == tarfile.BLOCKSIZE and not any(buf):
                raise  # a block of zeros marks the end of the archive
            raise tarfile.ReadError("damaged header") from e
        if info.type in _EXTENDED and not 0 <= info.size <= _HEADER:
            raise tarfile.ReadError("an extended header is too long")
        return info


class _Passes:
    """Opens decompressing streams over a tar archive. An unused stream is reused for a member at a later offset."""

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
            raise InputError("archive-corrupt", "the archive is cut off", where=self._file.name, fix="re-download the archive")
        return data

    def skip_to(self, offset: int) -> None:
        while self.offset < offset:
            self.read(min(_SKIP, offset - self.offset))

    def close(self) -> None:
        self._context.__exit__(None, None, None)


class _TarMember(io.RawIOBase):
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
    except Exception as e:  # for damaged headers, tarfile raises value, overflow, Unicode and recursion errors
        raise InputError("archive-corrupt", "damaged tar archive", where=file.name, fix="re-download the archive") from e


_DIRECTORY = 8 * MIB  # maximum bytes of a zip archive's central directory
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the memory for decompressing other methods cannot be limited


def is_zip(path: Path, head: bytes) -> bool:
    """Return whether a file is a zip archive, by its first bytes or by the central directory at its end."""
    return head.startswith(b"PK\x03\x04") or zipfile.is_zipfile(path)


def zip_files(path: Path, limits: Limits) -> Iterator[InputFile]:
    """Yield the members in the order of the central directory."""
    archive = _open_zip(_File(open_regular(path), path.name, limits), path)
    members = [info for info in archive.infolist() if not info.filename.endswith("/")]
    require_few(len(members), path.name, limits)
    _require_apart(members, archive.start_dir, path)
    for info in members:
        where = f"{path.name}: {info.filename}"
        require_safe_name(info.orig_filename, path.name)
        if stat.S_ISLNK(info.external_attr >> 16):
            raise InputError("archive-path", "the archive contains a link", where=where)
        if info.flag_bits & 1:
            raise InputError("archive-corrupt", "the archive is encrypted", where=path.name, fix="decrypt the archive first")
        if info.compress_type not in _METHODS:
            raise InputError(
                "archive-corrupt", "a member is not compressed with deflate", where=where, fix="build the archive with deflate"
            )
        yield InputFile(info.filename, _zip_opener(archive, info, where, limits), info.file_size, limits)


def _open_zip(file: _File, path: Path) -> _Zip:
    try:
        return _Zip(file)
    except BaseException as e:  # for damaged directories, zipfile raises struct, Unicode and overflow errors
        file.close()
        if isinstance(e, OnymError) or not isinstance(e, Exception):
            raise
        raise InputError("archive-corrupt", "damaged zip archive", where=path.name, fix="re-download the archive") from e


def _zip_opener(archive: _Zip, info: zipfile.ZipInfo, where: str, limits: Limits) -> Callable[[], BinaryIO]:
    return lambda: cast("BinaryIO", _ZipMember(archive, info, where, limits))


class _File(io.BufferedReader):
    """The file of a zip archive. Limits the size and entries of its central directory, which zipfile reads into memory."""

    def __init__(self, raw: BinaryIO, name: str, limits: Limits) -> None:
        super().__init__(cast("io.RawIOBase", raw), 64 * KIB)
        self._name, self._limits = name, limits
        self._is_directory_read = False

    def read(self, size: int | None = -1) -> bytes:
        if self._is_directory_read:
            return super().read(size)
        data = super().read(_DIRECTORY + 1 if size is None or size < 0 else min(size, _DIRECTORY + 1))
        if len(data) > _DIRECTORY or data.count(b"PK\x01\x02") > self._limits.archive_members:
            raise too_many(self._name, self._limits)
        return data

    def directory_read(self) -> None:
        self._is_directory_read = True

    def __del__(self) -> None:
        self.close()  # closing the file explicitly avoids a ResourceWarning


class _Zip(zipfile.ZipFile):
    """A zip archive that stays open as long as one of its members is referenced."""

    def __init__(self, file: _File) -> None:
        self._file = file
        super().__init__(file)
        file.directory_read()

    def close(self) -> None:
        super().close()
        self._file.close()


class _ZipMember(io.RawIOBase):
    """One member as a stream: converts errors to InputError and limits the compression ratio."""

    def __init__(self, archive: _Zip, info: zipfile.ZipInfo, where: str, limits: Limits) -> None:
        super().__init__()
        self._where = where
        self._packed = max(1, info.compress_size)
        self._limits = limits
        self._count = 0
        self._member = self._guard(lambda: archive.open(info))
        self._archive = archive  # keeps the archive open while the member is read

    def read(self, size: int | None = -1) -> bytes:
        data = self._guard(lambda: self._member.read(-1 if size is None else size))
        self._count += len(data)
        if self._count > max(self._limits.ratio_grace_bytes, self._limits.ratio * self._packed):
            what = f"unpacks to more than {self._limits.ratio} times its size, as a decompression bomb does"
            raise LimitError("limit-ratio", what, where=self._where)
        return data

    def close(self) -> None:
        self._member.close()
        super().close()

    def _guard(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except Exception as e:  # for damaged members, zipfile raises zlib, lzma, struct and Unicode errors
            raise InputError("archive-corrupt", "a member of the archive is damaged", where=self._where) from e


def _require_apart(members: list[zipfile.ZipInfo], end: int, path: Path) -> None:
    """Reject members that overlap or extend into the directory, because zip bombs use overlaps to hide their ratio."""
    offset = 0
    for info in sorted(members, key=lambda m: m.header_offset):
        if info.header_offset < offset:
            raise InputError("archive-corrupt", "members of the archive overlap", where=path.name)
        offset = info.header_offset + 30 + info.compress_size
    if offset > end:
        raise InputError("archive-corrupt", "a member extends into the central directory", where=path.name)
