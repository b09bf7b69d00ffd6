"""Writes and unpacks reproducible zip archives, which have no timestamps or owners and keep the order of writing.

Incompressible members are stored uncompressed, and so are members whose compression ratio would trip zip-bomb checks.
"""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from onym.errors import IntegrityError, LimitError
from onym.store.files.input_file import InputFile
from onym.store.files.stream import open_regular
from onym.store.limits import DEFAULT_LIMITS, MIB, Limits
from onym.store.output import whole_file

Content = Path | bytes | InputFile
"""The content of a member: a file, bytes, or a member of another archive."""
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest date that zip can store
_UNIX = 3
_MODE = (stat.S_IFREG | 0o644) << 16
_CHUNK = 1 * MIB
_WORTH_IT = 0.95  # a member that compresses to more than this fraction of its size is stored uncompressed
_SUSPICIOUS = 20  # if the first chunk compresses by more than this factor, the whole member is compressed to measure its ratio
_MAX_RATIO = DEFAULT_LIMITS.ratio // 2  # above this ratio, a member is stored uncompressed, because readers would reject it


class WrittenMember(NamedTuple):
    """The size of a member and the SHA-256 of its content."""

    bytes: int
    sha256: str


class ArchiveWriter:
    """Writes members to an archive."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def add(self, name: str, content: Content) -> WrittenMember:
        """Write a member and return its size and digest."""
        info = zipfile.ZipInfo(name, _TIME)
        info.create_system, info.external_attr = _UNIX, _MODE
        info.compress_type, info.file_size = _method(content), _size(content)
        sha256, count = hashlib.sha256(), 0
        with _open(content) as source, self._archive.open(info, "w") as member:
            for chunk in iter(lambda: source.read(_CHUNK), b""):
                member.write(chunk)
                sha256.update(chunk)
                count += len(chunk)
        return WrittenMember(count, sha256.hexdigest())


@contextmanager
def whole_archive(path: Path, *, force: bool = False) -> Iterator[ArchiveWriter]:
    """Write an archive atomically: `path` appears only when it is complete.

    >>> path = getfixture("tmp_path") / "a.zip"
    >>> with whole_archive(path) as archive:
    ...     archive.add("a.txt", b"fever").bytes
    5
    >>> zipfile.ZipFile(path).read("a.txt")
    b'fever'
    """
    with whole_file(path, force=force) as file, zipfile.ZipFile(file, "w") as archive:
        yield ArchiveWriter(archive)


def _open(content: Content) -> BinaryIO:
    if isinstance(content, InputFile):
        return content.opener()
    return io.BytesIO(content) if isinstance(content, bytes) else cast("BinaryIO", io.BufferedReader(open_regular(content)))


def _size(content: Content) -> int:
    if isinstance(content, InputFile):
        return content.size
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def _method(content: Content) -> int:
    """Choose the compression method from the member's first chunk, or from all chunks if the first is highly compressible."""
    with _open(content) as source:
        head = source.read(_CHUNK)
        packed = len(zlib.compress(head))
        if packed >= _WORTH_IT * len(head):
            return zipfile.ZIP_STORED
        if packed * _SUSPICIOUS < len(head) and _size(content) > DEFAULT_LIMITS.ratio_grace_bytes:
            packer = zlib.compressobj()
            packed = len(packer.compress(head))
            packed += sum(len(packer.compress(chunk)) for chunk in iter(lambda: source.read(_CHUNK), b""))
            packed += len(packer.flush())
            if packed * _MAX_RATIO < _size(content):
                return zipfile.ZIP_STORED
    return zipfile.ZIP_DEFLATED


def read_member(file: InputFile, max_bytes: int) -> bytes:
    """Return the bytes of a member; raise LimitError if it is larger than `max_bytes`.

    >>> read_member(InputFile.from_bytes("pack.json", b"{}"), 10)
    b'{}'
    """
    with file.opener() as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise LimitError("limit-manifest", f"a member is larger than {max_bytes:,} bytes", where=file.name)
    return data


def require_plausible(listed: Mapping[str, WrittenMember], packed: int, limits: Limits, where: str) -> None:
    """Raise LimitError if the listed files are too large in total for an archive of `packed` bytes.

    >>> require_plausible({"a": WrittenMember(10**9, "")}, 1_000, Limits(), "a.onymp")
    Traceback (most recent call last):
    onym.errors.LimitError: [limit-ratio] unpacks to more than 100 times its size, as a decompression bomb does...
    """
    total = sum(each.bytes for each in listed.values())
    if total > limits.unpacked_bytes:
        raise LimitError("limit-unpacked", f"the archive unpacks to more than {limits.unpacked_bytes:,} bytes", where=where)
    if total > max(limits.ratio_grace_bytes, limits.ratio * packed):
        what = f"unpacks to more than {limits.ratio} times its size, as a decompression bomb does"
        raise LimitError("limit-ratio", what, where=where)


def unpack(files: Mapping[str, InputFile], listed: Mapping[str, WrittenMember], folder: Path) -> None:
    """Write the listed files into a folder created by `whole_folder`; reject a file whose size or digest is wrong."""
    for name, expected in listed.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as out:
            _copy(files[name], out, expected)


def _copy(file: InputFile, out: BinaryIO, expected: WrittenMember) -> None:
    sha256, count = hashlib.sha256(), 0
    with file.opener() as stream:
        while count <= expected.bytes and (chunk := stream.read(_CHUNK)):
            sha256.update(chunk)
            count += len(chunk)
            out.write(chunk)
    require_listed(WrittenMember(count, sha256.hexdigest()), expected, file.name)


def require_listed(found: WrittenMember, expected: WrittenMember, name: str) -> None:
    """Raise IntegrityError if a file differs from its entry in the pack's list.

    >>> require_listed(WrittenMember(1, "aa"), WrittenMember(1, "ab"), "names.npy")
    Traceback (most recent call last):
    onym.errors.IntegrityError: [pack-corrupt] a file differs from its entry in the pack...
    """
    if found != expected:
        what = "a file differs from its entry in the pack"
        raise IntegrityError("pack-corrupt", what, where=name, fix="fetch the pack again")
