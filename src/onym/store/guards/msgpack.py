"""Reads zlib-compressed data and msgpack within limits. Only numbers, strings, lists and maps are created.

Binary values are returned as memoryviews of the data. Extension types are returned as None, because only the application
that wrote them knows their meaning.
See https://github.com/msgpack/msgpack/blob/master/spec.md.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Hashable
from typing import Any

from onym.errors import InputError, LimitError
from onym.store.files.input_file import InputFile
from onym.store.limits import DEFAULT_LIMITS, KIB, Limits

_NIL, _NEVER, _FALSE, _TRUE = 0xC0, 0xC1, 0xC2, 0xC3
_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_SIZES = {0: ">B", 1: ">H", 2: ">I"}  # struct formats of a length stored in 1, 2 or 4 bytes


class MsgpackReader:
    """Reads one msgpack value, which may be nested. `values` is the maximum number of values in total.

    >>> MsgpackReader(b"\\x82\\xa1a\\x01\\xa1b\\x92\\xc0\\xc3", "a.spacy", values=10).value()
    {'a': 1, 'b': [None, True]}
    """

    def __init__(
        self, data: bytes | bytearray | memoryview, where: str, *, values: int, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._data, self._where, self._values, self._depth = memoryview(data), where, values, limits.json_depth
        self._at = 0

    def value(self) -> Any:
        """Return the value; raise InputError if more bytes follow the value."""
        found = self._value(0)
        if self._at != len(self._data):
            raise self._make_error()
        return found

    def _value(self, depth: int) -> Any:  # noqa: PLR0911 - a branch for each kind of the specification
        self._values -= 1
        if self._values < 0 or depth > self._depth:
            raise LimitError("limit-record", "the data has too many values or is nested too deeply", where=self._where)
        mark = self._take(1)[0]
        if mark < 0x80:
            return mark
        if mark >= 0xE0:
            return mark - 0x100
        if mark < 0xA0:
            return self._many(mark & 0x0F, depth, is_map=mark < 0x90)
        if mark < 0xC0:
            return self._string(mark & 0x1F)
        if mark in _NUMBERS:
            return self._number(_NUMBERS[mark])
        if mark < 0xC4:
            return self._constant(mark)
        return self._read_sized(mark, depth)

    def _constant(self, mark: int) -> bool | None:
        if mark == _NEVER:
            raise self._make_error()
        return None if mark == _NIL else mark == _TRUE

    def _read_sized(self, mark: int, depth: int) -> Any:
        """Read a value whose type byte is followed by its length."""
        if mark < 0xC7:
            return self._take(self._number(_SIZES[mark - 0xC4]))
        if mark < 0xCA:
            self._take(self._number(_SIZES[mark - 0xC7]) + 1)
            return None
        if mark < 0xD9:
            self._take(2 ** (mark - 0xD4) + 1)
            return None
        if mark < 0xDC:
            return self._string(self._number(_SIZES[mark - 0xD9]))
        is_map = mark >= 0xDE
        return self._many(self._number(_SIZES[mark - (0xDE if is_map else 0xDC) + 1]), depth, is_map=is_map)

    def _many(self, count: int, depth: int, *, is_map: bool) -> Any:
        if is_map:
            return {self._key(depth): self._value(depth + 1) for _ in range(count)}
        return [self._value(depth + 1) for _ in range(count)]

    def _key(self, depth: int) -> Hashable:
        key = self._value(depth + 1)
        if isinstance(key, list):  # msgpack writes a tuple as a list
            key = tuple(key)
        elif isinstance(key, memoryview):
            key = bytes(key)
        try:
            hash(key)
        except (TypeError, ValueError) as e:
            raise self._make_error() from e
        return key  # type: ignore[no-any-return]

    def _string(self, size: int) -> str:
        try:
            return str(self._take(size), "utf-8")
        except UnicodeDecodeError as e:
            raise self._make_error() from e

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _take(self, size: int) -> memoryview:
        start, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise self._make_error()
        return self._data[start : self._at]

    def _make_error(self) -> InputError:
        return InputError(
            "docbin-malformed", "the msgpack data is damaged or truncated", where=self._where, fix="write the file again"
        )


_CHUNK = 256 * KIB


def inflate(file: InputFile, limit: int) -> bytearray:
    """Decompress a zlib stream; raise LimitError if the result is larger than `limit` bytes.

    >>> bytes(inflate(InputFile.from_bytes("a.spacy", zlib.compress(b"fever")), 100))
    b'fever'
    """
    unpacker, data = zlib.decompressobj(), bytearray()
    with file.open() as stream:
        while packed := stream.read(_CHUNK):
            if unpacker.eof:
                raise _damage_error(file)
            while packed and not unpacker.eof:
                data += _unpack(unpacker, packed, file)
                packed = unpacker.unconsumed_tail
                _require_within_limits(len(data), stream.bytes_on_disk, limit, file)
    if not unpacker.eof or unpacker.unused_data:
        raise _damage_error(file)
    return data


def inflate_first_bytes(data: bytes, size: int) -> bytes:
    """Return the first `size` decompressed bytes of a zlib stream; return b"" if the data is not a zlib stream.

    >>> inflate_first_bytes(zlib.compress(b"fever")[:10], 4), inflate_first_bytes(b"fever", 4)
    (b'feve', b'')
    """
    try:
        return zlib.decompressobj().decompress(data, size)
    except zlib.error:
        return b""


def _unpack(unpacker: zlib._Decompress, packed: bytes, file: InputFile) -> bytes:
    try:
        return unpacker.decompress(packed, _CHUNK)
    except zlib.error as e:
        raise _damage_error(file) from e


def _damage_error(file: InputFile) -> InputError:
    return InputError(
        "docbin-malformed", "the zlib data is damaged or truncated", where=file.name, fix="download or write the file again"
    )


def _require_within_limits(size: int, packed: int, limit: int, file: InputFile) -> None:
    if size > limit:
        raise LimitError(
            "limit-record", f"the file unpacks to more than {limit:,} bytes", where=file.name, fix="split the file into several"
        )
    require_ratio(size, packed, file)


def require_ratio(size: int, packed: int, file: InputFile) -> None:
    """Raise LimitError if `size` unpacked bytes are too many for a file of `packed` bytes (ratio limit)."""
    if size > file.limits.ratio_grace_bytes and size > file.limits.ratio * max(1, packed):
        what = f"unpacks to more than {file.limits.ratio} times its size, as a decompression bomb does"
        raise LimitError("limit-ratio", what, where=file.name, fix="if you trust the file, raise Limits.ratio")
