"""Where a release is: one file, a folder, or a zip/tar archive, read member by member and never unpacked to disk.

A release is untrusted: names that climb out of it, links, devices and overlapping members are refused.
"""

from __future__ import annotations

import fnmatch
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Self, TypeVar, cast

from onym.errors import InputError, LimitError, OnymError
from onym.store.limits import DEFAULT_LIMITS, KIB, MIB, Limits
from onym.store.regular import open_regular
from onym.store.stream import InputStream

T = TypeVar("T")
_ZIP_DIRECTORY = 8 * MIB
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others unpack without a bound
_TAR_HEADER = 64 * KIB  # of a long name or of extended attributes, which tarfile reads whole
_TAR_EXTENDED = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip
_SKIP = 256 * KIB
_TINY = 1 * KIB


@dataclass(frozen=True)
class InputFile:
    """One file of a release. `name` is relative to the release; opening it twice reads it twice.

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

    @classmethod
    def from_bytes(cls, name: str, data: bytes, limits: Limits = DEFAULT_LIMITS) -> InputFile:
        """Make a file of bytes that are already in memory."""
        return cls(name, lambda: io.BytesIO(data), len(data), limits)

    @classmethod
    def from_path(cls, path: Path, name: str | None = None, limits: Limits = DEFAULT_LIMITS) -> InputFile:
        """Make a file of a path, refusing anything that is not a regular file."""
        try:
            status = path.stat()
        except (OSError, ValueError) as e:
            raise InputError("input-missing", "no such file", where=str(path), fix="check the path") from e
        if not stat.S_ISREG(status.st_mode):
            raise InputError("input-missing", "not a regular file", where=str(path), fix="name a file or a folder")
        return cls(name or path.name, lambda: open_regular(path), status.st_size, limits)

    @contextmanager
    def open(self) -> Iterator[InputStream]:
        """Open the file for reading, unpacking gzip and zstd on the way."""
        try:
            raw = self.opener()
        except OSError as e:
            raise InputError("input-unreadable", f"cannot be opened: {e.strerror or e}", where=self.name) from e
        with raw:
            stream = InputStream(raw, self.name, self.limits)
            try:
                yield stream
            finally:
                if not self._read_digests and stream.packed_bytes == self.size:
                    self._read_digests.append(stream.digest())
                stream.close()

    def head(self, size: int) -> bytes:
        """Return the first `size` bytes, unpacked. Those of a tiny file are kept: in an archive of many, opening costs most."""
        if not self._tiny:
            with self.open() as stream:
                data = stream.read(size)
            if len(data) < min(size, _TINY):
                self._tiny.append(data)
            return data
        return self._tiny[0][:size]

    @property
    def was_read(self) -> bool:
        """True once the file has been read to its end."""
        return bool(self._read_digests)

    def digest(self) -> str:
        """Return the SHA-256 of the file as it lies on disk; of what was read, where it was read to its end."""
        if not self._read_digests:
            with self.open() as stream:
                return stream.digest()
        return self._read_digests[0]

    @cached_property
    def stem(self) -> str:
        """The file's base name without `.gz` or `.zst`, in lower case."""
        return self.name.rpartition("/")[2].lower().removesuffix(".gz").removesuffix(".zst")


@dataclass(frozen=True)
class Source:
    """A release: the files in it, found by name wherever they lie inside.

    >>> Source.of_files("demo", [InputFile.from_bytes("META/MRCONSO.RRF.gz", b"")]).find("mrconso.rrf").name
    'META/MRCONSO.RRF.gz'
    """

    name: str
    files: tuple[InputFile, ...]

    @classmethod
    def of_files(cls, name: str, files: list[InputFile]) -> Source:
        """Make a release of files, in the order of their names."""
        return cls(name, tuple(sorted(files, key=lambda f: f.name)))

    @classmethod
    def open(cls, path: Path | str, limits: Limits = DEFAULT_LIMITS) -> Source:
        """Look into a file, a folder or an archive."""
        path = Path(path)
        if path.is_dir():
            return cls.of_files(path.name, list(_folder_files(path, limits)))
        file = InputFile.from_path(path, limits=limits)
        with file.open() as stream:
            head = stream.read(512)
        if head.startswith(b"PK\x03\x04") or zipfile.is_zipfile(path):
            return cls.of_files(path.name, list(_zip_files(path, limits)))
        if head[257:262] == b"ustar":
            return cls(path.name, tuple(_tar_files(file, limits)))
        return cls(path.name, (file,))

    def matching(self, pattern: str) -> list[InputFile]:
        """Return the files whose base name, less `.gz` or `.zst`, matches a shell pattern in any case."""
        return [file for file in self.files if fnmatch.fnmatchcase(file.stem, pattern.lower())]

    def find(self, pattern: str) -> InputFile | None:
        """Return the first matching file, or None."""
        return next(iter(self.matching(pattern)), None)

    def require(self, pattern: str) -> InputFile:
        """Return the first matching file, or refuse the release."""
        file = self.find(pattern)
        if file is None:
            raise InputError("input-missing", f"the release has no {pattern}", where=self.name, fix="name its folder")
        return file


def _folder_files(folder: Path, limits: Limits) -> Iterator[InputFile]:
    paths = list(islice((path for path in folder.rglob("*") if path.is_file()), limits.archive_members + 1))
    _require_few(len(paths), folder.name, limits)
    for path in sorted(paths):
        yield InputFile.from_path(path, name=path.relative_to(folder).as_posix(), limits=limits)


def _zip_files(path: Path, limits: Limits) -> Iterator[InputFile]:
    archive = _opened_zip(_ZipFile(open_regular(path), path.name, limits), path)
    members = [info for info in archive.infolist() if not info.filename.endswith("/")]
    _require_few(len(members), path.name, limits)
    _require_apart(members, archive.start_dir, path)
    for info in members:
        where = f"{path.name}: {info.filename}"
        _require_safe_member(info.orig_filename, path.name)
        if stat.S_ISLNK(info.external_attr >> 16):
            raise InputError("archive-path", "the archive holds a link", where=where)
        if info.flag_bits & 1:
            raise InputError("archive-corrupt", "the archive is encrypted", where=path.name, fix="decrypt it first")
        if info.compress_type not in _ZIP_METHODS:
            raise InputError("archive-corrupt", "a member is not packed by deflate", where=where, fix="pack it so")
        yield InputFile(info.filename, _zip_opener(archive, info, where, limits), info.file_size, limits)


def _opened_zip(file: _ZipFile, path: Path) -> _Zip:
    try:
        return _Zip(file)
    except BaseException as e:  # zipfile leaks struct, Unicode and overflow errors of damaged directories
        file.close()
        if isinstance(e, OnymError) or not isinstance(e, Exception):
            raise
        raise InputError("archive-corrupt", "not a whole zip archive", where=path.name, fix="fetch it again") from e


def _zip_opener(archive: _Zip, info: zipfile.ZipInfo, where: str, limits: Limits) -> Callable[[], BinaryIO]:
    return lambda: cast("BinaryIO", _ZipMember(archive, info, where, limits))


class _ZipFile(io.BufferedReader):
    """The file of a zip archive. Its directory, which zipfile reads whole, is bounded in bytes and in entries."""

    def __init__(self, raw: BinaryIO, name: str, limits: Limits) -> None:
        super().__init__(cast("io.RawIOBase", raw), 64 * KIB)
        self._name, self._limits = name, limits
        self._is_directory_read = False

    def read(self, size: int | None = -1) -> bytes:
        if self._is_directory_read:
            return super().read(size)
        data = super().read(_ZIP_DIRECTORY + 1 if size is None or size < 0 else min(size, _ZIP_DIRECTORY + 1))
        if len(data) > _ZIP_DIRECTORY or data.count(b"PK\x01\x02") > self._limits.archive_members:
            raise _too_many(self._name, self._limits)
        return data

    def directory_read(self) -> None:
        self._is_directory_read = True

    def __del__(self) -> None:
        self.close()  # by itself it would warn that nobody did


class _Zip(zipfile.ZipFile):
    """An archive that stays open as long as one of its members may be read."""

    def __init__(self, file: _ZipFile) -> None:
        self._file = file
        super().__init__(file)
        file.directory_read()

    def close(self) -> None:
        super().close()
        self._file.close()


class _ZipMember(io.RawIOBase):
    """One member as a stream, its damage told as ours and its growth counted against its packed size."""

    def __init__(self, archive: _Zip, info: zipfile.ZipInfo, where: str, limits: Limits) -> None:
        super().__init__()
        self._where = where
        self._packed = max(1, info.compress_size)
        self._limits = limits
        self._count = 0
        self._member = self._guard(lambda: archive.open(info))
        self._archive = archive  # not closed while a member is read

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
        except Exception as e:  # zipfile leaks zlib, lzma, struct and Unicode errors of damaged members
            raise InputError("archive-corrupt", "a member of the archive is damaged", where=self._where) from e


def _tar_files(file: InputFile, limits: Limits) -> Iterator[InputFile]:
    """Yield the members in their order in the archive, so that one pass serves whoever reads them one after the other."""
    count, passes = 0, _TarPasses(file)
    with file.open() as stream:
        archive = _tar_guard(lambda: tarfile.open(fileobj=stream, mode="r|", tarinfo=_TarInfo), file)  # noqa: SIM115
        while (member := _tar_guard(archive.next, file)) is not None:
            count += 1
            _require_few(count, file.name, limits)
            archive.members.clear()  # type: ignore[attr-defined]  # it would keep them all
            if member.isdir():
                continue
            _require_safe_member(member.name, file.name)
            if not member.isreg() or member.issparse():
                what = "the archive holds a link, a device or a sparse file"
                raise InputError("archive-path", what, where=f"{file.name}: {member.name}")
            if member.size < 0:
                raise InputError("archive-corrupt", "not a whole tar archive", where=file.name, fix="fetch it again")
            yield InputFile(member.name, _tar_opener(passes, member), member.size, limits)
        while stream.read(_SKIP):  # to the end, where a packed file has its sum
            pass


def _tar_opener(passes: _TarPasses, member: tarfile.TarInfo) -> Callable[[], BinaryIO]:
    offset, size = member.offset_data, member.size
    return lambda: cast("BinaryIO", _TarMember(passes, offset, size))


class _TarInfo(tarfile.TarInfo):
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
        if info.type in _TAR_EXTENDED and not 0 <= info.size <= _TAR_HEADER:
            raise tarfile.ReadError("a header too long")
        return info


class _TarPasses:
    """The unpacked bytes of a tar archive, read forwards; a pass is handed on to the next member that lies ahead."""

    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._idle: _TarPass | None = None

    def at(self, offset: int) -> _TarPass:
        found, self._idle = self._idle, None
        if found is not None and found.place > offset:
            found.close()
            found = None
        found = found or _TarPass(self._file)
        found.skip_to(offset)
        return found

    def give_back(self, used: _TarPass) -> None:
        if self._idle is not None:
            self._idle.close()
        self._idle = used

    def __del__(self) -> None:
        if self._idle is not None:
            self._idle.close()


class _TarPass:
    def __init__(self, file: InputFile) -> None:
        self._file, self._opened = file, file.open()
        self._stream = self._opened.__enter__()
        self.place = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.place += len(data)
        if size and not data:
            raise InputError("archive-corrupt", "the archive is cut short", where=self._file.name, fix="fetch it again")
        return data

    def skip_to(self, offset: int) -> None:
        while self.place < offset:
            self.read(min(_SKIP, offset - self.place))

    def close(self) -> None:
        self._opened.__exit__(None, None, None)


class _TarMember(io.RawIOBase):
    """One member as a stream."""

    def __init__(self, passes: _TarPasses, offset: int, size: int) -> None:
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


def _tar_guard(act: Callable[[], T], file: InputFile) -> T:
    try:
        return act()
    except OnymError:
        raise
    except Exception as e:  # tarfile leaks value, overflow, Unicode and recursion errors of damaged headers
        raise InputError("archive-corrupt", "not a whole tar archive", where=file.name, fix="fetch it again") from e


def _require_few(count: int, where: str, limits: Limits) -> None:
    if count > limits.archive_members:
        raise _too_many(where, limits)


def _too_many(where: str, limits: Limits) -> LimitError:
    return LimitError("limit-members", f"more than {limits.archive_members:,} files", where=where)


def _require_safe_member(name: str, where: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0] or "\x00" in name or not name:
        raise InputError("archive-path", "a member's name leads out of the archive", where=f"{where}: {name}")


def _require_apart(members: list[zipfile.ZipInfo], end: int, path: Path) -> None:
    """Refuse members that share bytes or reach into the directory: the tricks of bombs that keep each ratio low."""
    place = 0
    for info in sorted(members, key=lambda m: m.header_offset):
        if info.header_offset < place:
            raise InputError("archive-corrupt", "members of the archive overlap", where=path.name)
        place = info.header_offset + 30 + info.compress_size
    if place > end:
        raise InputError("archive-corrupt", "a member reaches beyond the archive", where=path.name)
