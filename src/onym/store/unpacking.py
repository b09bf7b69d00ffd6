"""Taking listed files out of an archive: each must be what the list says, byte by byte, or none of them is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from onym.errors import IntegrityError, LimitError
from onym.store.archive import Written
from onym.store.files.input_file import InputFile
from onym.store.limits import MIB, Limits

_CHUNK = 1 * MIB


def read_member(file: InputFile, max_bytes: int) -> bytes:
    """Return the bytes of a small member; a larger one is refused.

    >>> read_member(InputFile.from_bytes("pack.json", b"{}"), 10)
    b'{}'
    """
    with file.opener() as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise LimitError("limit-manifest", f"more than {max_bytes:,} bytes", where=file.name)
    return data


def require_plausible(listed: Mapping[str, Written], packed: int, limits: Limits, where: str) -> None:
    """Refuse files that are together far more than an archive of so many bytes can honestly hold.

    >>> require_plausible({"a": Written(10**9, "")}, 1_000, Limits(), "a.onymp")
    Traceback (most recent call last):
    onym.errors.LimitError: [limit-ratio] unpacks to more than 100 times its size, as a decompression bomb does...
    """
    total = sum(each.bytes for each in listed.values())
    if total > limits.unpacked_bytes:
        raise LimitError("limit-unpacked", f"more than {limits.unpacked_bytes:,} bytes unpacked", where=where)
    if total > max(limits.ratio_grace_bytes, limits.ratio * packed):
        what = f"unpacks to more than {limits.ratio} times its size, as a decompression bomb does"
        raise LimitError("limit-ratio", what, where=where)


def unpack(files: Mapping[str, InputFile], listed: Mapping[str, Written], folder: Path) -> None:
    """Write the listed files into a new folder that `whole_folder` gives; one that is not as listed is refused."""
    for name, expected in listed.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as out:
            _copy(files[name], out, expected)


def _copy(file: InputFile, out: BinaryIO, expected: Written) -> None:
    sha256, count = hashlib.sha256(), 0
    with file.opener() as stream:
        while count <= expected.bytes and (chunk := stream.read(_CHUNK)):
            sha256.update(chunk)
            count += len(chunk)
            out.write(chunk)
    require_listed(Written(count, sha256.hexdigest()), expected, file.name)


def require_listed(found: Written, expected: Written, name: str) -> None:
    """Refuse a file that is not the listed one.

    >>> require_listed(Written(1, "aa"), Written(1, "ab"), "names.npy")
    Traceback (most recent call last):
    onym.errors.IntegrityError: [pack-corrupt] a file is not the one that the pack lists...
    """
    if found != expected:
        what = "a file is not the one that the pack lists"
        raise IntegrityError("pack-corrupt", what, where=name, fix="fetch the pack again")
