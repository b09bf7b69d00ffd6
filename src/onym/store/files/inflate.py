"""The door to zlib streams, as a DocBin of spaCy is one: unpacked whole, and within limits."""

from __future__ import annotations

import zlib

from onym.errors import InputError, LimitError
from onym.store.files.input_file import InputFile
from onym.store.limits import KIB

_CHUNK = 256 * KIB


def inflate(file: InputFile, limit: int) -> bytearray:
    """Return the bytes that a zlib stream stands for, at most `limit`.

    >>> bytes(inflate(InputFile.from_bytes("a.spacy", zlib.compress(b"fever")), 100))
    b'fever'
    """
    unpacker, data = zlib.decompressobj(), bytearray()
    with file.open() as stream:
        while packed := stream.read(_CHUNK):
            if unpacker.eof:
                raise _damaged(file)
            while packed and not unpacker.eof:
                data += _unpacked(unpacker, packed, file)
                packed = unpacker.unconsumed_tail
                _require_within_limits(len(data), stream.packed_bytes, limit, file)
    if not unpacker.eof or unpacker.unused_data:
        raise _damaged(file)
    return data


def first_inflated(data: bytes, size: int) -> bytes:
    """Return the first bytes that the beginning of a zlib stream stands for; none where it is no such stream.

    >>> first_inflated(zlib.compress(b"fever")[:10], 4), first_inflated(b"fever", 4)
    (b'feve', b'')
    """
    try:
        return zlib.decompressobj().decompress(data, size)
    except zlib.error:
        return b""


def _unpacked(unpacker: zlib._Decompress, packed: bytes, file: InputFile) -> bytes:
    try:
        return unpacker.decompress(packed, _CHUNK)
    except zlib.error as e:
        raise _damaged(file) from e


def _damaged(file: InputFile) -> InputError:
    return InputError(
        "docbin-malformed", "the zlib data is damaged or cut short", where=file.name, fix="fetch or write the file again"
    )


def _require_within_limits(size: int, packed: int, limit: int, file: InputFile) -> None:
    if size > limit:
        raise LimitError(
            "limit-record", f"more than {limit:,} bytes unpacked", where=file.name, fix="write it as several files"
        )
    require_ratio(size, packed, file)


def require_ratio(size: int, packed: int, file: InputFile) -> None:
    """Refuse a file of `packed` bytes that stands for far more than files do."""
    if size > file.limits.ratio_grace_bytes and size > file.limits.ratio * max(1, packed):
        what = f"stands for more than {file.limits.ratio} times its size, as a decompression bomb does"
        raise LimitError("limit-ratio", what, where=file.name, fix="raise Limits.ratio if you trust it")
