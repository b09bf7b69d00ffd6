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
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, TypeVar

from onym.errors import InputError, LimitError
from onym.store.limits import DEFAULT_LIMITS, Limits
from onym.store.stream import InputStream

T = TypeVar("T")


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

    @classmethod
    def from_bytes(cls, name: str, data: bytes, limits: Limits = DEFAULT_LIMITS) -> InputFile:
        """Make a file of bytes that are already in memory."""
        return cls(name, lambda: io.BytesIO(data), len(data), limits)

    @classmethod
    def from_path(cls, path: Path, name: str | None = None, limits: Limits = DEFAULT_LIMITS) -> InputFile:
        """Make a file of a path, refusing anything that is not a regular file."""
        try:
            status = path.stat()
        except OSError as e:
            raise InputError("input-missing", "no such file", where=str(path), fix="check the path") from e
        if not stat.S_ISREG(status.st_mode):
            raise InputError("input-missing", "not a regular file", where=str(path), fix="name a file or a folder")
        return cls(name or path.name, lambda: path.open("rb"), status.st_size, limits)

    @contextmanager
    def open(self) -> Iterator[InputStream]:
        """Open the file for reading, unpacking gzip and zstd on the way."""
        try:
            raw = self.opener()
        except OSError as e:
            raise InputError("input-unreadable", f"cannot be opened: {e.strerror or e}", where=self.name) from e
        stream = InputStream(raw, self.name, self.limits)
        try:
            yield stream
        finally:
            if not self._read_digests and stream.packed_bytes == self.size:
                self._read_digests.append(stream.digest())
            stream.close()

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

    @property
    def stem(self) -> str:
        """The file's base name without `.gz` or `.zst`, in lower case."""
        base = PurePosixPath(self.name).name.lower()
        return base.removesuffix(".gz").removesuffix(".zst")


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
            return cls.of_files(path.name, list(_tar_files(file, limits)))
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
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    _require_few(len(paths), folder.name, limits)
    for path in paths:
        yield InputFile.from_path(path, name=path.relative_to(folder).as_posix(), limits=limits)


def _zip_files(path: Path, limits: Limits) -> Iterator[InputFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, UnicodeDecodeError) as e:
        raise InputError("archive-corrupt", "not a whole zip archive", where=path.name, fix="fetch it again") from e
    _require_few(len(members), path.name, limits)
    _require_apart(members, path)
    for info in members:
        _require_safe_member(info.filename, path.name)
        if stat.S_ISLNK(info.external_attr >> 16):
            raise InputError("archive-path", "the archive holds a link", where=f"{path.name}: {info.filename}")
        if info.flag_bits & 1:
            raise InputError("archive-corrupt", "the archive is encrypted", where=path.name, fix="decrypt it first")
        yield InputFile(info.filename, _zip_opener(path, info, limits), info.file_size, limits)


def _zip_opener(path: Path, info: zipfile.ZipInfo, limits: Limits) -> Callable[[], BinaryIO]:
    def opener() -> BinaryIO:
        return _ZipMember(path, info, limits)  # type: ignore[return-value]

    return opener


class _ZipMember(io.RawIOBase):
    """One member as a stream, its damage told as ours and its growth counted against its packed size."""

    def __init__(self, path: Path, info: zipfile.ZipInfo, limits: Limits) -> None:
        super().__init__()
        self._where = f"{path.name}: {info.filename}"
        self._packed = max(1, info.compress_size)
        self._limits = limits
        self._count = 0
        self._archive = zipfile.ZipFile(path)
        self._member = self._guard(lambda: self._archive.open(info))

    def read(self, size: int | None = -1) -> bytes:
        data = self._guard(lambda: self._member.read(-1 if size is None else size))
        self._count += len(data)
        if self._count > max(self._limits.ratio_grace_bytes, self._limits.ratio * self._packed):
            what = f"unpacks to more than {self._limits.ratio} times its size, as a decompression bomb does"
            raise LimitError("limit-ratio", what, where=self._where)
        return data

    def close(self) -> None:
        self._archive.close()
        super().close()

    def _guard(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except Exception as e:  # zipfile leaks zlib, lzma, struct and Unicode errors of damaged members
            raise InputError("archive-corrupt", "a member of the archive is damaged", where=self._where) from e


def _tar_files(file: InputFile, limits: Limits) -> Iterator[InputFile]:
    count = 0
    with _opened_tar(file) as archive:
        while (member := _tar_guard(archive.next, file)) is not None:
            count += 1
            _require_few(count, file.name, limits)
            if member.isdir():
                continue
            _require_safe_member(member.name, file.name)
            if not member.isreg():
                what = "the archive holds a link or a device"
                raise InputError("archive-path", what, where=f"{file.name}: {member.name}")
            yield InputFile(member.name, _tar_opener(file, member.name), member.size, limits)


def _tar_opener(file: InputFile, name: str) -> Callable[[], BinaryIO]:
    def opener() -> BinaryIO:
        context = _opened_tar(file)
        archive = context.__enter__()
        while (member := _tar_guard(archive.next, file)) is not None:
            if member.name == name:
                return _TarMember(context, archive.extractfile(member))  # type: ignore[return-value]
        raise InputError("archive-corrupt", "the archive changed while it was read", where=file.name)

    return opener


class _TarMember(io.RawIOBase):
    """One member as a stream that closes its archive with it."""

    def __init__(self, context: object, member: IO[bytes] | None) -> None:
        super().__init__()
        self._context = context
        self._member = member or io.BytesIO()

    def read(self, size: int | None = -1) -> bytes:
        try:
            return self._member.read(-1 if size is None else size)
        except tarfile.TarError as e:
            raise InputError("archive-corrupt", "a member of the archive is damaged") from e

    def close(self) -> None:
        self._context.__exit__(None, None, None)  # type: ignore[attr-defined]
        super().close()


@contextmanager
def _opened_tar(file: InputFile) -> Iterator[tarfile.TarFile]:
    with file.open() as stream:
        archive = _tar_guard(lambda: tarfile.open(fileobj=stream, mode="r|"), file)  # noqa: SIM115
        yield archive


def _tar_guard(act: Callable[[], T], file: InputFile) -> T:
    try:
        return act()
    except (tarfile.TarError, ValueError, OverflowError, UnicodeError) as e:
        raise InputError("archive-corrupt", "not a whole tar archive", where=file.name, fix="fetch it again") from e


def _require_few(count: int, where: str, limits: Limits) -> None:
    if count > limits.archive_members:
        raise LimitError("limit-members", f"more than {limits.archive_members:,} files", where=where)


def _require_safe_member(name: str, where: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0] or "\x00" in name or not name:
        raise InputError("archive-path", "a member's name leads out of the archive", where=f"{where}: {name}")


def _require_apart(members: list[zipfile.ZipInfo], path: Path) -> None:
    """Refuse members that share bytes: the trick of bombs that keep each ratio low."""
    ends = 0
    for info in sorted(members, key=lambda m: m.header_offset):
        if info.header_offset < ends:
            raise InputError("archive-corrupt", "members of the archive overlap", where=path.name)
        ends = info.header_offset + 30 + info.compress_size
