"""Reads JSON files of any size, item by item, within limits of depth and size.

The limits are checked on the raw bytes, before the parser allocates memory for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from onym.errors import InputError, LimitError
from onym.store.files.source import InputFile
from onym.store.files.stream import InputStream
from onym.store.limits import DEFAULT_LIMITS, Limits

_READ = 64 * 1024
_BOM = b"\xef\xbb\xbf"
_STRUCTURE = b"[]{},:"
_NOT_STRUCTURE = bytes(set(range(256)) - set(_STRUCTURE))
_STEP = np.zeros(256, dtype=np.int8)
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1
_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
# ijson ends the process (SIGSEGV) at an integer of more digits than Python converts, unless it reads numbers as floats. Then it
# rejects those beyond 2**63, so this is done only where there is such a number.
_LONG_NUMBER = re.compile(rb"[0-9]{600}")
# An escape sequence or surrogate pair that is cut off at the end of a chunk.
_CUT = re.compile(rb"\\(?:u(?:[dD](?:[89abAB](?:[0-9a-fA-F]{0,2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?)?)?)?)?$")


class _Readable(Protocol):
    def read(self, size: int = -1) -> bytes: ...


def iter_items(file: InputFile, prefix: str) -> Iterator[Any]:
    """Yield the values at `prefix`, such as `item` (items of a top-level list) or `graphs.item.nodes.item`.

    >>> list(iter_items(InputFile.from_bytes("a.json", b'[{"id": 1}, {"id": 2}]'), "item"))
    [{'id': 1}, {'id': 2}]
    """
    import ijson

    depth = len(prefix.split("."))
    yield from _parse_guarded(file, depth, lambda stream: ijson.items(stream, prefix, use_float=True, buf_size=_READ))


def iter_pairs(file: InputFile, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of the object at `prefix`, by default the top-level object.

    >>> list(iter_pairs(InputFile.from_bytes("a.json", b'{"D1": ["one"], "D2": ["two"]}')))
    [('D1', ['one']), ('D2', ['two'])]
    """
    import ijson

    depth = len(prefix.split(".")) + 1 if prefix else 1
    yield from _parse_guarded(file, depth, lambda stream: ijson.kvitems(stream, prefix, use_float=True, buf_size=_READ))


def keys_in(data: bytes, count: int) -> tuple[list[str], bool]:
    """Return up to `count` keys of the first object in the first bytes of a file, and whether the object is whole.

    >>> keys_in(b'[{"id": 1, "te', 40)
    (['id'], False)
    """
    import ijson
    from ijson.common import IncompleteJSONError, JSONError

    keys: list[str] = []
    prefix = "item" if data.startswith(b"[") else ""
    try:
        for where, event, value in ijson.parse(data, multiple_values=True, use_float=_LONG_NUMBER.search(data) is not None):
            if event == "map_key" and where == prefix:
                keys.append(value)
            if event == "end_map" and where == prefix:
                return keys, True
            if len(keys) == count:
                break
    except (IncompleteJSONError, JSONError, UnicodeError, ValueError, OverflowError):
        pass  # the first bytes may end within the object
    return keys, False


def parse_line(data: bytes, where: str, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Parse one line of a JSONL file.

    >>> parse_line(b'{"id": 1}', "a.jsonl:1")
    {'id': 1}
    """
    if data.count(b"[") + data.count(b"{") > limits.json_depth or b"\\u" in data or len(data) > limits.document_values:
        shape = _JsonNesting(where, limits, 0)
        shape.take(data)
        if shape.values > limits.document_values:
            raise LimitError("limit-json", f"a line has more than {limits.document_values:,} values", where=where)
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as e:
        raise InputError("json-malformed", "not valid JSON", where=where, fix="fetch the file again") from e


def first_byte(file: InputFile) -> str:
    """Return the first non-space character of a file, such as `[` or `{`."""
    with file.open(peek=True) as stream:
        return stream.read(1024).removeprefix(_BOM).lstrip()[:1].decode("latin-1")


def _parse_guarded(file: InputFile, depth: int, parse: Callable[[_Readable], Iterator[Any]]) -> Iterator[Any]:
    from ijson.common import IncompleteJSONError, JSONError

    with file.open() as stream:
        bounded = _Bounded(stream, file, depth)
        try:
            yield from parse(bounded)
        except (IncompleteJSONError, JSONError, UnicodeError, ValueError, OverflowError) as e:
            where = f"{file.name} (before byte {bounded.count:,})"
            raise InputError("json-malformed", "not valid JSON", where=where, fix="fetch the file again") from e


def _refuse_constant(_: str) -> None:
    raise ValueError


class _Bounded:
    """A stream that checks the limits before the parser sees the bytes."""

    def __init__(self, stream: InputStream, file: InputFile, depth: int) -> None:
        self._stream = stream
        self._shape = _JsonNesting(file.name, file.limits, depth)
        self.count = 0

    def read(self, size: int = _READ) -> bytes:
        data = self._stream.read(min(size, _READ))
        if not self.count:
            data = data.removeprefix(_BOM)
        self.count += len(data)
        self._shape.take(data)
        return data


class _JsonNesting:
    """Tracks the nesting of JSON that arrives in chunks, and the size of the current item and token.

    An item is the JSON between two commas or brackets at most `depth` levels deep. Escape sequences and strings are removed
    first, then brackets and commas are counted. The counts are exact for valid JSON; invalid JSON is rejected by the parser.
    """

    def __init__(self, where: str, limits: Limits, depth: int) -> None:
        self._where, self._limits, self._item_depth = where, limits, depth
        self._depth = self._item_bytes = self._item_values = self._token_bytes = 0
        self.values = 0
        self._in_text = False
        self._rest = b""  # an escape sequence or surrogate pair that was cut off at the end of the previous chunk

    def take(self, data: bytes) -> None:
        """Measure the next chunk; raise LimitError if the nesting is too deep, or an item or token is too large."""
        parts = self._without_escapes(data).split(b'"')
        outside = parts[1::2] if self._in_text else parts[::2]
        self._in_text ^= len(parts) % 2 == 0
        tail = parts[-1] if self._in_text else parts[-1].rpartition(b",")[2]
        is_whole = len(parts) == 1 and len(tail) == len(parts[-1])
        self._token_bytes = self._token_bytes + len(data) if is_whole else len(tail)
        self._measure(b"".join(outside).translate(None, _NOT_STRUCTURE), len(data))
        self._require_within_limits()

    def _without_escapes(self, data: bytes) -> bytes:
        data, self._rest = self._rest + data, b""
        if b"\\" not in data:
            return data
        data = data.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")
        if cut := _CUT.search(data, max(0, len(data) - 12)):
            data, self._rest = data[: cut.start()], data[cut.start() :]
        if _HALF.search(_PAIR.sub(b"", data)):
            raise InputError(
                "input-encoding",
                "the JSON has a lone surrogate escape (\\ud800 to \\udfff)",
                where=self._where,
                fix="replace the escape with a valid character",
            )
        return data

    def _measure(self, marks: bytes, size: int) -> None:
        self.values += len(marks)
        if not marks:
            self._item_bytes += size
            return
        depths = np.cumsum(_STEP[np.frombuffer(marks, dtype=np.uint8)], dtype=np.int64) + self._depth
        self._depth = int(depths[-1])
        if int(depths.max()) > self._limits.json_depth:
            raise LimitError("limit-depth", f"nested more than {self._limits.json_depth} levels deep", where=self._where)
        ends = np.flatnonzero(depths <= self._item_depth)
        if len(ends):
            self._item_bytes, self._item_values = 0, len(marks) - 1 - int(ends[-1])
        else:
            self._item_bytes, self._item_values = self._item_bytes + size, self._item_values + len(marks)

    def _require_within_limits(self) -> None:
        limits = self._limits
        for found, limit, what in (
            (self._item_bytes, limits.json_item_bytes, "one item is larger than {:,} bytes"),
            (self._item_values, limits.json_item_values, "one item has more than {:,} values"),
            (self._token_bytes, limits.json_token_bytes, "one string or number is larger than {:,} bytes"),
        ):
            if found > limit:
                raise LimitError("limit-json", what.format(limit), where=self._where)
