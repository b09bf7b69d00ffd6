"""Onym's documents as Parquet: one row per document, without loss of data. Read and written in row groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from onym.corpora.base import ALL, Facet, Item, MalformedError, Output, Style, preserve_all
from onym.corpora.formats._files import any_looks
from onym.corpora.plain import Plain, from_plain, from_plain_linked, to_plain, to_plain_linked
from onym.errors import InputError
from onym.store.files.parquet import iter_parquet, parquet_schema, write_parquet
from onym.store.files.source import InputFile, Source
from onym.types import EVIDENCE, Document, LinkedDocument

HOLDS: frozenset[Facet] = ALL
IS_FOLDER = False
DECODES = True
EXTENSIONS = (".parquet",)
preserved_facets = preserve_all

_PAIRS = pa.list_(pa.list_(pa.string()))
_SPANS = pa.list_(pa.list_(pa.int64()))
_MENTION = {
    "start": pa.int64(), "end": pa.int64(), "surface": pa.string(), "concept_ids": pa.list_(pa.string()),
    "type": pa.string(), "id": pa.string(), "parts": _SPANS, "notes": _PAIRS,
}  # fmt: skip
_PASSAGE = {"start": pa.int64(), "end": pa.int64(), "kind": pa.string(), "notes": _PAIRS}
_RELATION = {"type": pa.string(), "arguments": _PAIRS, "id": pa.string(), "notes": _PAIRS}
_LISTS = {"mentions": _MENTION, "passages": _PASSAGE, "relations": _RELATION}
SCHEMA = pa.schema(
    {"id": pa.string(), "text": pa.string()}
    | {name: pa.list_(pa.struct(list(fields.items()))) for name, fields in _LISTS.items()}
    | {"notes": _PAIRS}
)
_CANDIDATE = {"concept_id": pa.string(), "name": pa.string(), "score": pa.float64()}
_KINDS = {str: pa.string(), int: pa.int64(), float: pa.float64()}
_EVIDENCE = {each.name: pa.list_(_KINDS[each.kind]) if each.is_list else _KINDS[each.kind] for each in EVIDENCE}
_FIRST = ("detection_score", "stage", "confidence", "nil_reason")  # fields of a link that are in all files
_ADDED = ("tied", "assertion")  # fields of a link that are missing in older files; append new fields here
_LINK = {"candidates": pa.list_(pa.struct(list(_CANDIDATE.items())))} | {
    name: _EVIDENCE[name] for name in dict.fromkeys([*_FIRST, *_ADDED, *_EVIDENCE])
}
_PROBLEM = {"code": pa.string(), "what": pa.string(), "where": pa.string()}


def _link_schema(of_link: dict[str, pa.DataType]) -> pa.Schema:
    links, problems = (pa.list_(pa.struct(list(fields.items()))) for fields in (of_link, _PROBLEM))
    return pa.schema([*SCHEMA, pa.field("schema", pa.string()), pa.field("links", links), pa.field("problems", problems)])


LINKED_SCHEMA = _link_schema(_LINK)
_SCHEMAS = [_link_schema(dict(list(_LINK.items())[:known])) for known in range(1 + len(_FIRST), len(_LINK) + 1)]
_ROWS, _LETTERS = 512, 4_000_000  # maximum rows and characters of text in a row group, because readers load a whole row group


def matches(source: Source) -> bool:
    """Return whether a file begins like a Parquet file."""
    return any_looks(source, _looks_right)


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    return (item for file in source.files for item in _read_file(file))


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:  # noqa: ARG001
    """Write one row per document; ids are always CURIEs."""
    with output.file() as file:
        write_parquet(_batches(map(to_plain, documents), SCHEMA), SCHEMA, file)


def write_linked(linked: Iterable[LinkedDocument], output: Output) -> None:
    """Write one row per linked document, with all candidates and scores, or with its problems if linking failed."""
    with output.file() as file:
        write_parquet(_batches(map(to_plain_linked, linked), LINKED_SCHEMA), LINKED_SCHEMA, file)


def read_linked(source: Source) -> Iterator[LinkedDocument]:
    """Yield the linked documents of every file; raise InputError at an invalid row."""
    for file in source.files:
        rows = (row for batch in iter_parquet(file, _schema_of(file)) for row in batch.to_pylist())
        for number, row in enumerate(rows, 1):
            where = f"{file.name}, row {number}"
            try:
                yield from_plain_linked(_without_nulls(row), where)
            except MalformedError as e:
                raise InputError("corpus-malformed", e.what, where=where, fix="write the file again with onym link") from e


def _schema_of(file: InputFile) -> pa.Schema:
    found = parquet_schema(file)
    links = found.field("links").type if "links" in found.names else None
    return next((schema for schema in _SCHEMAS if schema.field("links").type == links), LINKED_SCHEMA)


def _looks_right(file: InputFile) -> bool:
    with file.open() as stream:
        return stream.read(4) == b"PAR1"


def _batches(plains: Iterable[Plain], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    rows: list[Plain] = []
    size = 0
    for plain in plains:
        rows.append(plain)
        size += len(plain["text"])
        if len(rows) == _ROWS or size > _LETTERS:
            yield pa.RecordBatch.from_pylist(rows, schema=schema)
            rows, size = [], 0
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _read_file(file: InputFile) -> Iterator[Item]:
    rows = (row for batch in iter_parquet(file, _columns(file)) for row in _rows(batch))
    for number, row in enumerate(rows, 1):
        where = f"{file.name}, row {number}"
        try:
            if row is None:
                raise MalformedError("not valid UTF-8", where, code="input-encoding")
            yield from from_plain(_without_nulls(row), where)
        except MalformedError as e:
            yield e.problem()


def _rows(batch: pa.RecordBatch) -> Iterator[Plain | None]:
    """Yield the rows of a batch, or None for a row with invalid UTF-8, because Arrow does not check it."""
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        if batch.num_rows == 1:
            yield None
        else:
            for number in range(batch.num_rows):
                yield from _rows(batch.slice(number, 1))


def _columns(file: InputFile) -> pa.Schema:
    """Return the schema to read. `id` and `text` keep their string types (`id` may be an integer); others follow `SCHEMA`."""
    found = parquet_schema(file)
    if missing := [name for name in ("id", "text") if name not in found.names]:
        fix = f"rename columns to id and text; the file has {', '.join(found.names[:12])}"[:200]
        raise InputError("parquet-columns", f"no column is named {missing[0]!r}", where=file.name, fix=fix)
    present = [name for name in SCHEMA.names if name in found.names]
    return pa.schema([found.field(name) if _is_plain(name, found.field(name).type) else SCHEMA.field(name) for name in present])


def _is_plain(name: str, kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"
    return (name in ("id", "text") and is_text) or (name == "id" and pa.types.is_integer(kind))


def _without_nulls(row: Plain) -> Plain:
    """Drop the null values of a row."""
    return {key: _clean(value) for key, value in row.items() if value is not None}


def _clean(value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [{key: inner for key, inner in member.items() if inner is not None} for member in value]
    return value
