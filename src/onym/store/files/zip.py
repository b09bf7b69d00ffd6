"""The door to zip archives: members are read as streams, never unpacked to disk.

Names that lead out, links, encryption, overlapping members and directories without a bound are refused.
"""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from onym.errors import InputError, LimitError, OnymError
from onym.store.files.input_file import InputFile
from onym.store.files.member import require_few, require_safe_name, too_many
from onym.store.files.regular import open_regular
from onym.store.limits import KIB, MIB, Limits

T = TypeVar("T")
_DIRECTORY = 8 * MIB
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others unpack without a bound


def is_zip(path: Path, head: bytes) -> bool:
    """Tell whether a file is a zip archive, by its first bytes or by the directory at its end."""
    return head.startswith(b"PK\x03\x04") or zipfile.is_zipfile(path)


def zip_files(path: Path, limits: Limits) -> Iterator[InputFile]:
    """Yield the members, in the order of the directory."""
    archive = _open_zip(_File(open_regular(path), path.name, limits), path)
    members = [info for info in archive.infolist() if not info.filename.endswith("/")]
    require_few(len(members), path.name, limits)
    _require_apart(members, archive.start_dir, path)
    for info in members:
        where = f"{path.name}: {info.filename}"
        require_safe_name(info.orig_filename, path.name)
        if stat.S_ISLNK(info.external_attr >> 16):
            raise InputError("archive-path", "the archive holds a link", where=where)
        if info.flag_bits & 1:
            raise InputError("archive-corrupt", "the archive is encrypted", where=path.name, fix="decrypt it first")
        if info.compress_type not in _METHODS:
            raise InputError("archive-corrupt", "a member is not packed by deflate", where=where, fix="pack it so")
        yield InputFile(info.filename, _opener(archive, info, where, limits), info.file_size, limits)


def _open_zip(file: _File, path: Path) -> _Zip:
    try:
        return _Zip(file)
    except BaseException as e:  # zipfile leaks struct, Unicode and overflow errors of damaged directories
        file.close()
        if isinstance(e, OnymError) or not isinstance(e, Exception):
            raise
        raise InputError("archive-corrupt", "not a whole zip archive", where=path.name, fix="fetch it again") from e


def _opener(archive: _Zip, info: zipfile.ZipInfo, where: str, limits: Limits) -> Callable[[], BinaryIO]:
    return lambda: cast("BinaryIO", _Member(archive, info, where, limits))


class _File(io.BufferedReader):
    """The file of a zip archive. Its directory, which zipfile reads whole, is bounded in bytes and in entries."""

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
        self.close()  # by itself it would warn that nobody did


class _Zip(zipfile.ZipFile):
    """An archive that stays open as long as one of its members may be read."""

    def __init__(self, file: _File) -> None:
        self._file = file
        super().__init__(file)
        file.directory_read()

    def close(self) -> None:
        super().close()
        self._file.close()


class _Member(io.RawIOBase):
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


def _require_apart(members: list[zipfile.ZipInfo], end: int, path: Path) -> None:
    """Refuse members that share bytes or reach into the directory: the tricks of bombs that keep each ratio low."""
    offset = 0
    for info in sorted(members, key=lambda m: m.header_offset):
        if info.header_offset < offset:
            raise InputError("archive-corrupt", "members of the archive overlap", where=path.name)
        offset = info.header_offset + 30 + info.compress_size
    if offset > end:
        raise InputError("archive-corrupt", "a member reaches beyond the archive", where=path.name)
