"""Hostile archives and compressed files: bombs, escaping or overlapping members, damaged data; and paths that are not files."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from tests.robustness.files.case import MB, Case, file

ROW = b"C0000005|ENG|P|L0|PF|S0|Y|A0||M0|D012711|MSH|PEP|D012711|Fever of unknown origin|0|N|256|\n"
_NAME = "MRCONSO.RRF"
_ZEROS = bytes(MB)
_ROWS = ROW * 10_000


def _gzip(part: bytes, count: int) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6, mtime=0) as packed:
        for _ in range(count):
            packed.write(part)
    return out.getvalue()


def _zstd(part: bytes, count: int) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as packed:
        for _ in range(count):
            packed.write(part)
    return bytes(out.getvalue().to_pybytes())


def _mix_rows() -> bytes:
    """Return rows that compress badly, so that a cut or a changed byte hits data."""
    return b"".join(ROW.replace(b"Fever", b"%x" % (n * 2654435761 % 2**32)) for n in range(5_000))


def _flip(data: bytes, offset: int) -> bytes:
    return data[:offset] + bytes([data[offset] ^ 0x55]) + data[offset + 1 :]


def _zip(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data, compress_type=method)
    return out.getvalue()


def _zip_bomb(method: int = zipfile.ZIP_DEFLATED) -> bytes:
    return _zip((_NAME, _ZEROS * 60), method=method)


def _make_linked_zip() -> bytes:
    info = zipfile.ZipInfo("MRSTY.RRF")
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return _zip((_NAME, ROW), (info, b"/etc/passwd"))


def _patch_directory(data: bytes, offset: int, value: bytes) -> bytes:
    """Change a field of the last entry of a zip's directory."""
    start = data.rindex(b"PK\x01\x02") + offset
    return data[:start] + value + data[start + len(value) :]


def _lying_zip() -> bytes:
    """A zip bomb whose directory overstates the compressed size, so that the ratio looks harmless."""
    return _patch_directory(_zip_bomb(), 20, struct.pack("<L", 4_000_000_000))


def _overlapping_zip() -> bytes:
    data = _zip((_NAME, _mix_rows()), ("MRSTY.RRF", b"C0000005|T047|A|B|C||\n"))
    return _patch_directory(data, 42, struct.pack("<L", 10))


def _huge_directory() -> bytes:
    """A zip that only has a directory, with 400,000 entries."""
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 3, 20, 0, 0, 0, 0, 33, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0)
    directory = b"".join(entry + b"%06x" % n for n in range(400_000))
    head = b"PK\x03\x04" + bytes(26)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(directory), len(head), 0)
    return head + directory + end


def _tar(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def _tar_with(kind: bytes, target: str = "") -> bytes:
    return _tar((_member(_NAME), ROW), (_member("MRSTY.RRF", kind, target), b""))


def _header_bomb(kind: bytes) -> Callable[[Path], Path]:
    """A tar with an extended header of 300 MB, which readers load completely."""

    def make(folder: Path) -> Path:
        path = folder / "release.tar"
        info = _member("x", kind)
        info.size = 300 * MB
        with path.open("wb") as out:
            out.write(info.tobuf(tarfile.USTAR_FORMAT))
            out.truncate(512 + 300 * MB)
        return path

    return make


def _header_chain() -> bytes:
    """A tar of 5,000 extended headers, each applying to the next one."""
    info = _member("x", tarfile.XHDTYPE)
    info.size = 512
    record = b"12 comment=\n".ljust(512, b"\x00")
    return (info.tobuf(tarfile.USTAR_FORMAT) + record) * 5_000


def _negative_size() -> bytes:
    header = bytearray(_member(_NAME).tobuf(tarfile.USTAR_FORMAT))
    header[124:136] = b"\xff" * 12
    header[148:156] = b"        "
    header[148:156] = b"%06o\x00 " % sum(header)
    return bytes(header) + bytes(1024)


def _fifo(folder: Path) -> Path:
    os.mkfifo(folder / _NAME)
    return folder / _NAME


def _archive(name: str, code: str, file_name: str, content: Callable[[], bytes]) -> Case:
    return Case(name, code, file(file_name, content))


def _zip_of_name(name: str) -> Callable[[], bytes]:
    return lambda: _zip((_NAME, ROW), (name, ROW))


CASES = (
    _archive("gzip bomb", "limit-ratio", f"{_NAME}.gz", lambda: _gzip(_ROWS, 200)),
    _archive("gzip bomb of zeros", "limit-line", "hp.obo.gz", lambda: _gzip(_ZEROS, 200)),
    _archive("gzip bomb in two members", "limit-ratio", f"{_NAME}.gz", lambda: _gzip(_ROWS, 100) * 2),
    _archive("zstd bomb", "limit-ratio", f"{_NAME}.zst", lambda: _zstd(_ROWS, 200)),
    _archive("zstd bomb of zeros", "limit-line", "hp.obo.zst", lambda: _zstd(_ZEROS, 1000)),
    _archive("xz bomb", "format-unknown", f"{_NAME}.xz", lambda: lzma.compress(_ZEROS * 100, preset=0)),
    _archive("gzip in gzip", "input-encoding", f"{_NAME}.gz", lambda: _gzip(_gzip(_ROWS, 2), 1)),
    _archive("gzip cut off", "input-corrupt", f"{_NAME}.gz", lambda: _gzip(_mix_rows(), 1)[:-5_000]),
    _archive("gzip cut in its header", "input-corrupt", f"{_NAME}.gz", lambda: b"\x1f\x8b\x08"),
    _archive("gzip with a wrong sum", "input-corrupt", f"{_NAME}.gz", lambda: _flip(_gzip(_mix_rows(), 1), -6)),
    _archive("gzip with a changed byte", "input-corrupt", f"{_NAME}.gz", lambda: _flip(_gzip(_mix_rows(), 1), 20_000)),
    _archive("zstd cut off", "input-corrupt", f"{_NAME}.zst", lambda: _zstd(_mix_rows(), 1)[:-5_000]),
    _archive("zstd with a changed byte", "input-corrupt", f"{_NAME}.zst", lambda: _flip(_zstd(_mix_rows(), 1), 5)),
    _archive("zip bomb", "limit-ratio", "release.zip", lambda: _zip((_NAME, _ROWS * 60))),
    _archive("zip bomb that lies about its size", "archive-corrupt", "release.zip", _lying_zip),
    _archive("zip bomb by bzip2", "archive-corrupt", "release.zip", lambda: _zip_bomb(zipfile.ZIP_BZIP2)),
    _archive("zip bomb by lzma", "archive-corrupt", "release.zip", lambda: _zip_bomb(zipfile.ZIP_LZMA)),
    _archive("zip with members that overlap", "archive-corrupt", "release.zip", _overlapping_zip),
    _archive("zip of 10,001 members", "limit-members", "release.zip", lambda: _zip(*[(f"{n}", b"") for n in range(10_001)])),
    _archive("zip with a directory of 400,000", "limit-members", "release.zip", _huge_directory),
    _archive("zip of 4,000 files that are no release", "format-unknown", "release.zip",
             lambda: _zip(*[(f"{n}.json", b"%x" % (n * 2654435761)) for n in range(4_000)])),
    _archive("zip with an absolute name", "archive-path", "release.zip", _zip_of_name("/etc/MRSTY.RRF")),
    _archive("zip with a name that climbs", "archive-path", "release.zip", _zip_of_name("a/../../MRSTY.RRF")),
    _archive("zip with a name that climbs by backslash", "archive-path", "release.zip", _zip_of_name("a\\..\\..\\MRSTY.RRF")),
    _archive("zip with a drive", "archive-path", "release.zip", _zip_of_name("C:\\MRSTY.RRF")),
    _archive("zip with a NUL in a name", "archive-path", "release.zip",
             lambda: _zip_of_name("MRSTY.RRF~.txt")().replace(b"RRF~", b"RRF\x00")),
    _archive("zip with a link", "archive-path", "release.zip", _make_linked_zip),
    _archive("zip that is encrypted", "archive-corrupt", "release.zip",
             lambda: _patch_directory(_zip((_NAME, ROW)), 8, b"\x01")),
    _archive("zip cut off", "archive-corrupt", "release.zip", lambda: _zip((_NAME, _mix_rows()))[:-5_000]),
    _archive("zip with a wrong sum", "archive-corrupt", "release.zip",
             lambda: _patch_directory(_zip((_NAME, _mix_rows())), 16, b"\x00\x01\x02\x03")),
    _archive("zip with a changed byte", "archive-corrupt", "release.zip", lambda: _flip(_zip((_NAME, _mix_rows())), 20_000)),
    _archive("tar.gz bomb", "limit-ratio", "release.tar.gz", lambda: _gzip(_tar((_member(_NAME), _ROWS * 60)), 1)),
    _archive("tar with a soft link", "archive-path", "release.tar", lambda: _tar_with(tarfile.SYMTYPE, "/etc/passwd")),
    _archive("tar with a hard link", "archive-path", "release.tar", lambda: _tar_with(tarfile.LNKTYPE, "/etc/passwd")),
    _archive("tar with a device", "archive-path", "release.tar", lambda: _tar_with(tarfile.CHRTYPE)),
    _archive("tar with a pipe", "archive-path", "release.tar", lambda: _tar_with(tarfile.FIFOTYPE)),
    _archive("tar with a name that climbs", "archive-path", "release.tar", lambda: _tar((_member("../MRSTY.RRF"), ROW))),
    _archive("tar with an absolute name", "archive-path", "release.tar", lambda: _tar((_member("/etc/MRSTY.RRF"), ROW))),
    _archive("tar of 10,001 members", "limit-members", "release.tar.gz",
             lambda: _gzip(_tar(*[(_member(f"{n}"), b"") for n in range(10_001)]), 1)),
    _archive("tar of 4,000 files that are no release", "format-unknown", "release.tar.gz",
             lambda: _gzip(_tar(*[(_member(f"{n}.json"), b"%x" % (n * 2654435761)) for n in range(4_000)]), 1)),
    _archive("tar with a sparse member", "archive-path", "release.tar", lambda: _tar_with(tarfile.GNUTYPE_SPARSE)),
    Case("tar with a header of 300 MB", "archive-corrupt", _header_bomb(tarfile.XHDTYPE)),
    Case("tar with a name of 300 MB", "archive-corrupt", _header_bomb(tarfile.GNUTYPE_LONGNAME)),
    _archive("tar of 5,000 headers", "archive-corrupt", "release.tar", _header_chain),
    _archive("tar with a negative size", "archive-corrupt", "release.tar", _negative_size),
    _archive("tar cut off", "archive-corrupt", "release.tar", lambda: _tar((_member(_NAME), _mix_rows()))[:200_000]),
    _archive("tar cut off before a header", "archive-corrupt", "release.tar", lambda: _tar((_member(_NAME), ROW))[:1024]),
    _archive("tar with a changed header", "archive-corrupt", "release.tar",
             lambda: _flip(_tar((_member(_NAME), ROW), (_member("MRSTY.RRF"), b"")), 1030)),
    _archive("tar.gz cut off", "input-corrupt", "release.tar.gz",
             lambda: _gzip(_tar((_member(_NAME), _mix_rows())), 1)[:-5_000]),
    Case("a pipe", "input-missing", _fifo),
    Case("a device without end", "input-missing", lambda _: Path("/dev/zero")),
    Case("nothing", "input-missing", lambda folder: folder / "nothing"),
)  # fmt: skip
