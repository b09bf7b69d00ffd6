"""Writes Parquet files byte by byte, to make files that no library writes but readers accept."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
BYTE_ARRAY, INT64 = 6, 2  # numbers of physical types in the Parquet format
PLAIN, RLE, DELTA_BYTE_ARRAY, RLE_DICTIONARY = 0, 3, 7, 8
CODECS = {"": 0, "snappy": 1, "gzip": 2, "brotli": 4, "zstd": 6}
OPTIONAL, REPEATED = 1, 2


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def text(data: bytes) -> bytes:
    return varint(len(data)) + data


def members(kind: int, items: Sequence[bytes]) -> bytes:
    count = len(items)
    return (bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + varint(count)) + b"".join(items)


def fields(*found: tuple[int, int, bytes]) -> bytes:
    """Return a Thrift struct of field ids, kinds and values."""
    out, last = b"", 0
    for number, kind, data in found:
        out += bytes([(number - last) << 4 | kind]) + data
        last = number
    return out + b"\x00"


def integers(**values: int) -> bytes:
    """Return a Thrift struct of 32-bit numbers; `_1=5` sets field 1 to 5."""
    return fields(*((int(name[1:]), I32, zigzag(value)) for name, value in values.items()))


def element(name: str, kind: int | None = None, *, children: int = 0, repetition: int = OPTIONAL, meaning: int = -1) -> bytes:
    """Return a schema element; without a physical type it is a group."""
    found = [] if kind is None else [(1, I32, zigzag(kind))]
    found += [(3, I32, zigzag(repetition)), (4, BINARY, text(name.encode()))]
    if kind is None:
        found.append((5, I32, zigzag(children)))
    if meaning >= 0:
        found.append((6, I32, zigzag(meaning)))
    return fields(*found)


@dataclass(frozen=True)
class Leaf:
    """A column of a schema: its path, physical type, and maximum repetition and definition levels."""

    path: tuple[str, ...]
    kind: int
    definition: int
    repetition: int

    def nulls(self, count: int, *, records: int | None = None) -> bytes:
        """Return a page of top-level nulls or, with `records=1`, of empty list members that all belong to one record."""
        inside = records == 1 and self.repetition > 0
        found = b""
        if self.repetition:
            rest = runs(count - 1, 1) if inside else b""
            found += _add_size(runs(1, 0) + rest if inside else runs(count, 0))
        return found + _add_size(runs(count, 2 if inside else 0))


def elements(schema: pa.Schema) -> tuple[list[bytes], list[Leaf]]:
    """Return the elements of a schema of strings, numbers, lists and structs, and its columns."""
    found = [_below(each.name, each.type, Leaf((), INT64, 0, 0)) for each in schema]
    root = element("schema", children=len(schema), repetition=0)
    return [root, *(each for out, _ in found for each in out)], [leaf for _, leaves in found for leaf in leaves]


def _below(name: str, kind: pa.DataType, parent: Leaf) -> tuple[list[bytes], list[Leaf]]:
    """Return the elements and the columns of one field."""
    own = Leaf((*parent.path, name), INT64, parent.definition + 1, parent.repetition)
    if pa.types.is_list(kind):
        member = Leaf((*own.path, "list"), INT64, own.definition + 1, own.repetition + 1)
        out, leaves = _below("element", kind.value_type, member)
        return [element(name, children=1, meaning=3), element("list", children=1, repetition=REPEATED), *out], leaves
    if pa.types.is_struct(kind):
        found = [_below(kind.field(n).name, kind.field(n).type, own) for n in range(kind.num_fields)]
        group_of = element(name, children=kind.num_fields)
        return [group_of, *(each for out, _ in found for each in out)], [leaf for _, leaves in found for leaf in leaves]
    if pa.types.is_string(kind):
        return [element(name, BYTE_ARRAY, meaning=0)], [replace(own, kind=BYTE_ARRAY)]
    return [element(name, INT64)], [own]


def runs(count: int, value: int) -> bytes:
    """Return levels or indices of fewer than 8 bits: one value, repeated `count` times."""
    return varint(count << 1) + bytes([value])


def present(leaf: Leaf, count: int) -> bytes:
    """Return the levels of `count` non-null values of a column outside lists."""
    return _add_size(runs(count, leaf.definition))


def _add_size(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


@dataclass(frozen=True)
class Page:
    """A page to be written: a page of values, or a dictionary page."""

    data: bytes
    values: int
    encoding: int = PLAIN
    is_dictionary: bool = False
    size: int | None = None  # size to write in the header instead of the true one

    def pack(self, codec: str) -> bytes:
        data = bytes(pa.compress(self.data, codec=codec, asbytes=True)) if codec else self.data
        size = len(self.data) if self.size is None else self.size
        if self.is_dictionary:
            part = (7, STRUCT, integers(_1=self.values, _2=PLAIN))
        else:
            part = (5, STRUCT, integers(_1=self.values, _2=self.encoding, _3=RLE, _4=RLE))
        kind = 2 if self.is_dictionary else 0
        return fields((1, I32, zigzag(kind)), (2, I32, zigzag(size)), (3, I32, zigzag(len(data))), part) + data


@dataclass(frozen=True)
class Column:
    """One column of one row group."""

    leaf: Leaf
    pages: Sequence[Page]
    values: int
    codec: str = ""

    def chunk(self, offset: int) -> tuple[bytes, bytes]:
        """Return the column's bytes and footer entry."""
        written = [page.pack(self.codec) for page in self.pages]
        size = sum(map(len, written))
        before = len(written[0]) if self.pages and self.pages[0].is_dictionary else 0
        meta = [
            (1, I32, zigzag(self.leaf.kind)), (2, LIST, members(I32, [zigzag(RLE)])),
            (3, LIST, members(BINARY, [text(name.encode()) for name in self.leaf.path])), (4, I32, zigzag(CODECS[self.codec])),
            (5, I64, zigzag(self.values)), (6, I64, zigzag(size)), (7, I64, zigzag(size)), (9, I64, zigzag(offset + before)),
        ]  # fmt: skip
        if before:
            meta.append((11, I64, zigzag(offset)))
        return b"".join(written), fields((2, I64, zigzag(offset)), (3, STRUCT, fields(*meta)))


def footer(schema: Sequence[bytes], rows: int, groups: Sequence[bytes], pairs: Sequence[bytes] = ()) -> bytes:
    found = [
        (1, I32, zigzag(1)),
        (2, LIST, members(STRUCT, schema)),
        (3, I64, zigzag(rows)),
        (4, LIST, members(STRUCT, groups)),
    ]
    return fields(*found, *([(5, LIST, members(STRUCT, pairs))] if pairs else []))


def group(chunks: Sequence[bytes], rows: int, size: int = 0) -> bytes:
    return fields((1, LIST, members(STRUCT, chunks)), (2, I64, zigzag(size)), (3, I64, zigzag(rows)))


def file(foot: bytes, body: bytes = b"") -> bytes:
    return b"PAR1" + body + foot + struct.pack("<I", len(foot)) + b"PAR1"


def write_file(schema: Sequence[bytes], columns: Sequence[Column], rows: int, groups: int = 1) -> bytes:
    """Return a file of columns; with several `groups`, all of them have the same bytes."""
    body, chunks = b"", []
    for column in columns:
        data, chunk = column.chunk(4 + len(body))
        body += data
        chunks.append(chunk)
    return file(footer(schema, rows * groups, [group(chunks, rows, len(body))] * groups), body)
