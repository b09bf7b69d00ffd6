"""Parquet bombs: values shared by many rows, pages that decompress endlessly, empty rows and members, forged footers."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from onym.corpora.formats.parquet import LINKED_SCHEMA, SCHEMA
from tests.robustness.files import parquet_bytes as raw
from tests.robustness.files.case import MB, Case, file
from tests.robustness.files.parquet_bytes import Column, Leaf, Page

_LONG = 20 * MB
_FITS = 7 * MB  # bytes of a text just below the maximum document length


def share_text(size: int, rows: int, *, codec: str = "zstd", schema: pa.Schema = SCHEMA) -> bytes:
    """Return a file with one text shared by many rows, written by an ordinary library."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["fever " * (size // 6)]))
    ids = pa.array([str(number) for number in range(rows)])
    columns = [{"text": text, "id": ids}.get(each.name, pa.nulls(rows, each.type)) for each in schema]
    out = io.BytesIO()
    pq.write_table(pa.table(columns, names=schema.names), out, compression=codec, store_schema=False)
    return out.getvalue()


def _long(size: int, rows: int, codec: str) -> bytes:
    """Return a file with long texts that are stored without a dictionary."""
    out = io.BytesIO()
    texts = [{"id": str(number), "text": "fever " * (size // 6)} for number in range(rows)]
    pq.write_table(pa.Table.from_pylist(texts, schema=SCHEMA), out, compression=codec, use_dictionary=False)
    return out.getvalue()


def _prefix_texts(size: int, rows: int) -> bytes:
    """Return a file in which each text repeats the previous one."""
    out = io.BytesIO()
    encodings = {"text": "DELTA_BYTE_ARRAY"}
    table = pa.Table.from_pylist([{"id": "1", "text": "fever " * (size // 6)}] * rows, schema=SCHEMA)
    pq.write_table(table, out, compression="zstd", use_dictionary=False, column_encoding=encodings)
    return out.getvalue()


@cache
def _elements(schema: pa.Schema = SCHEMA) -> tuple[list[bytes], list[Leaf]]:
    return raw.elements(schema)


def make_file(pages: dict[str, Callable[[Leaf], Column]], rows: int, groups: int = 1, *, schema: pa.Schema = SCHEMA) -> bytes:
    """Return a file with the given columns; all others are null."""
    elements, leaves = _elements(schema)
    columns = [
        pages[".".join(leaf.path)](leaf) if ".".join(leaf.path) in pages else Column(leaf, [Page(leaf.nulls(rows), rows)], rows)
        for leaf in leaves
    ]
    return raw.write_file(elements, columns, rows, groups)


def page_bomb(codec: str, size: int, schema: pa.Schema = SCHEMA) -> bytes:
    """Return a text column with one page, which decompresses to one text of `size` bytes."""

    def column(leaf: Leaf) -> Column:
        text = b"a" * (size - 100)
        return Column(leaf, [Page(raw.present(leaf, 1) + struct.pack("<I", len(text)) + text, 1)], 1, codec)

    return make_file({"text": column}, 1, schema=schema)


def _lying_page(size: int) -> bytes:
    """Return a page whose header claims a very large size."""

    def column(leaf: Leaf) -> Column:
        return Column(leaf, [Page(raw.present(leaf, 1) + b"\x01\0\0\0a", 1, size=size)], 1, "zstd")

    return make_file({"text": column}, 1)


def _dictionary(values: int, size: int, rows: int) -> bytes:
    """Return a Parquet file whose text column has a dictionary of texts of `size` letters; every row refers to the first."""

    def column(leaf: Leaf) -> Column:
        words = Page((struct.pack("<I", size) + b"a" * size) * values, values, is_dictionary=True)
        indices = Page(raw.present(leaf, rows) + b"\x01" + raw.runs(rows, 0), rows, raw.RLE_DICTIONARY)
        return Column(leaf, [words, indices], rows, "zstd")

    return make_file({"text": column}, rows)


def _members(column: str, count: int) -> bytes:
    """Return one row with a list of `count` null members."""
    wanted = [".".join(leaf.path) for leaf in _elements()[1] if leaf.path[0] == column]

    def empty(leaf: Leaf) -> Column:
        return Column(leaf, [Page(leaf.nulls(count, records=1), count)], count)

    return make_file(dict.fromkeys(wanted, empty), 1)


def _many_pages(count: int) -> bytes:
    def column(leaf: Leaf) -> Column:
        return Column(leaf, [Page(leaf.nulls(1), 1)] * count, count)

    return make_file({"text": column}, count)


def _footer(schema: Iterable[bytes], groups: Iterable[bytes] = (), pairs: Iterable[bytes] = ()) -> bytes:
    return raw.file(raw.footer(list(schema), 0, list(groups), list(pairs)))


def _many_columns(count: int) -> bytes:
    return _footer([raw.element("r", children=count), *[raw.element("a", raw.INT64)] * count])


def _deep(depth: int) -> bytes:
    groups = [raw.element("a", children=1)] * depth
    return _footer([raw.element("r", children=1), *groups, raw.element("a", raw.INT64)])


def _chunks(count: int) -> bytes:
    return _footer(_elements()[0], [raw.group([raw.fields((2, raw.I64, raw.zigzag(0)))] * count, 0)])


def _groups(count: int) -> bytes:
    return _footer(_elements()[0], [raw.group([], 0)] * count)


def _pairs(count: int, size: int) -> bytes:
    pair = raw.fields((1, raw.BINARY, raw.text(b"")), (2, raw.BINARY, raw.text(b"a" * size)))
    return _footer(_elements()[0], [], [pair] * count)


def _nest_lists(depth: int) -> bytes:
    return raw.file(raw.fields((2, raw.LIST, b"\x19" * depth)))


def _case(name: str, content: Callable[[], bytes], act: Literal["corpus", "linked"] = "corpus", code: str = "") -> Case:
    """Return a case. Cases with an expected error code also run in the unit tests, because they are fast."""
    return Case(f"parquet: {name}", code, file("a.parquet", content), act=act, format="parquet")


CASES = (
    _case("one text of 20 MB for 512 rows", partial(share_text, _LONG, 512)),
    _case("one text of 7 MB for 512 rows", partial(share_text, _FITS, 512)),
    _case("one text of 7 MB for 512 rows, linked", partial(share_text, _FITS, 512, schema=LINKED_SCHEMA), "linked"),
    _case("one text of 100 KB for 20,000 rows", partial(share_text, MB // 10, 20_000)),
    *(_case(f"ten texts of 20 MB, {codec}", partial(_long, _LONG, 10, codec)) for codec in ("gzip", "brotli", "snappy")),
    _case("40 texts of 7 MB", partial(_long, _FITS, 40, "zstd")),
    _case("256 texts of 1 MB that repeat the one before", partial(_prefix_texts, MB, 256)),
    *(_case(f"a page of 200 MB, {codec}", partial(page_bomb, codec, 200 * MB)) for codec in ("zstd", "gzip", "brotli")),
    _case("a page of 60 MB", partial(page_bomb, "zstd", 60 * MB)),
    _case("a page that says 2 GB", partial(_lying_page, 2**31 - 1), code="limit-record"),
    _case("a page that says less than nothing", partial(_lying_page, -5), code="parquet-malformed"),
    _case("a dictionary of 2 million empty texts", partial(_dictionary, 2 * MB, 0, 40_000)),
    _case("a dictionary of 20 million empty texts", partial(_dictionary, 20 * MB, 0, 1000)),
    _case("a dictionary of 8 texts of 7 MB", partial(_dictionary, 8, _FITS, 1000)),
    _case("two thousand million empty rows", partial(make_file, {}, 2**31 - 1), code="limit-record"),
    _case("a million empty rows", partial(make_file, {}, MB), code="limit-record"),
    _case("10 million notes in a row", partial(_members, "notes", 10 * MB)),
    _case("2 million notes in a row", partial(_members, "notes", 2 * MB)),
    _case("10 million mentions in a row", partial(_members, "mentions", 10 * MB), code="limit-record"),
    _case("1 million mentions in a row", partial(_members, "mentions", MB)),
    _case("100,000 mentions in a row", partial(_members, "mentions", MB // 10), code="limit-ratio"),
    _case("50,000 pages of a row each", partial(_many_pages, 50_000)),
    _case("100 groups of the same bytes", partial(make_file, {}, 1000, 100), code="parquet-malformed"),
    _case("10,000 groups of the same bytes", partial(make_file, {}, 1000, 10_000), code="limit-record"),
    _case("a footer of 500,000 columns", partial(_many_columns, 500_000), code="limit-record"),
    _case("a footer of 50,000 columns", partial(_many_columns, 50_000)),
    _case("a footer of 5,000 nested groups", partial(_deep, 5_000), code="parquet-malformed"),
    _case("a footer of a million chunks", partial(_chunks, MB), code="limit-record"),
    _case("a footer of 500,000 row groups", partial(_groups, 500_000)),
    _case("a footer of a million pairs", partial(_pairs, MB, 0), code="limit-record"),
    _case("a footer with a value of 50 MB", partial(_pairs, 1, 50 * MB)),
    _case("a footer of lists in lists", partial(_nest_lists, 3 * MB), code="parquet-malformed"),
)
