"""The only door to JSON files of any size: items are read one by one, within limits of depth and size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onym.errors import InputError, LimitError
from onym.store.source import InputFile
from onym.store.stream import InputStream

_READ = 64 * 1024
_DEEP = 4096  # open brackets, those inside strings included, beyond which no genuine file is


def iter_items(file: InputFile, prefix: str) -> Iterator[Any]:
    """Yield the values at `prefix`, such as `item` (members of a top-level list) or `graphs.item.nodes.item`.

    >>> list(iter_items(InputFile.from_bytes("a.json", b'[{"id": 1}, {"id": 2}]'), "item"))
    [{'id': 1}, {'id': 2}]
    """
    import ijson

    yield from _guarded(file, lambda stream: ijson.items(stream, prefix, use_float=True))


def iter_pairs(file: InputFile, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of the object at `prefix`; the top-level one by default.

    >>> list(iter_pairs(InputFile.from_bytes("a.json", b'{"D1": ["one"], "D2": ["two"]}')))
    [('D1', ['one']), ('D2', ['two'])]
    """
    import ijson

    yield from _guarded(file, lambda stream: ijson.kvitems(stream, prefix, use_float=True))


def first_byte(file: InputFile) -> str:
    """Return the first character that is not white space: `[`, `{`, or whatever else the file begins with."""
    with file.open() as stream:
        return stream.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip()[:1].decode("latin-1")


def _guarded(file: InputFile, parse: Any) -> Iterator[Any]:
    from ijson.common import IncompleteJSONError, JSONError

    with file.open() as stream:
        bounded = _BoundedDepth(stream, file)
        try:
            for item in parse(bounded):
                bounded.item_done()
                yield item
        except (IncompleteJSONError, JSONError, UnicodeError, ValueError, OverflowError) as e:
            where = f"{file.name} (before byte {bounded.count:,})"
            raise InputError("json-malformed", "not valid JSON", where=where, fix="fetch the file again") from e


class _BoundedDepth:
    """A stream that refuses absurd nesting and absurdly large items before the parser builds them."""

    def __init__(self, stream: InputStream, file: InputFile) -> None:
        self._stream, self._file = stream, file
        self._open = 0
        self._since_item = 0
        self.count = 0

    def item_done(self) -> None:
        self._since_item = 0

    def read(self, size: int = _READ) -> bytes:
        data = self._stream.read(min(size, _READ))
        self.count += len(data)
        self._since_item += len(data)
        self._open += data.count(b"[") + data.count(b"{") - data.count(b"]") - data.count(b"}")
        if self._open > _DEEP:
            raise LimitError("limit-depth", f"nested deeper than {_DEEP:,}", where=self._file.name)
        if self._since_item > self._file.limits.json_item_bytes:
            what = f"one item is larger than {self._file.limits.json_item_bytes:,} bytes"
            raise LimitError("limit-json", what, where=self._file.name)
        return data
