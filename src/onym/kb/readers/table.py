"""Any csv or tsv with a header: the columns are named by the caller, or found under their usual names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import polars as pl
import pyarrow as pa
from pydantic import Field

from onym.errors import ConfigError
from onym.kb.curie import curies
from onym.kb.readers._shared import bar_list, batches, kind
from onym.parts import PartConfig
from onym.store.files.source import InputFile, Source
from onym.store.files.table import TableFormat, header, iter_table
from onym.types import NameKind

USUAL = {
    "id": ("id", "concept_id", "code", "curie", "cui", "identifier", "term_id"),
    "name": ("name", "label", "term", "preferred_name", "subject", "title", "str"),
    "synonyms": ("synonyms", "aliases", "synonym"),
    "definition": ("definition", "description", "def"),
    "types": ("semantic_types", "types", "type", "category"),
    "xrefs": ("xrefs", "xref", "mappings"),
    "language": ("language", "lang"),
    "source": ("source", "vocabulary"),
    "kind": ("kind",),
    "replaced_by": ("replaced_by", "successor"),
}
_KINDS = {value.label: int(value) for value in NameKind}


def matches(source: Source) -> bool:
    """Tell whether a csv or tsv has an id and a name column."""
    return any({"id", "name"} <= _columns(file, {}).keys() for file in _files(source))


class Config(PartConfig):
    """Which columns play which role, where they are called otherwise, and the prefix of bare ids."""

    kind: Literal["table"] = "table"
    columns: dict[str, str] = Field(default_factory=dict, description="Names of columns by role: id, name, synonyms ...")
    prefix: str | None = Field(default=None, description="Prefix of bare ids; by default the name of the file.")


def read(source: Source, config: Config | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows; members of one cell are separated by `|`."""
    config = config or Config()
    for file in _files(source):
        form = _form(file)
        found = _columns(file, config.columns)
        if not {"id", "name"} <= found.keys():
            fix = f"name them with columns; the file has {', '.join(header(file, form)[:12])}"[:200]
            raise ConfigError("table-columns", "no column for the id or the name is known", where=file.name, fix=fix)
        for batch in iter_table(file, form, list(dict.fromkeys(found.values()))):
            frame = pl.DataFrame(batch).select(**{role: pl.col(name) for role, name in found.items()})
            yield from _read_rows(
                frame.filter(pl.col("id").str.strip_chars() != ""), config.prefix or source.name.split(".")[0]
            )


def _files(source: Source) -> list[InputFile]:
    return source.matching("*.csv") + source.matching("*.tsv")


def _form(file: InputFile) -> TableFormat:
    return TableFormat(delimiter="," if file.stem.endswith(".csv") else "\t", quoted=True)


def _columns(file: InputFile, named: dict[str, str]) -> dict[str, str]:
    """Return which column plays which role."""
    there = header(file, _form(file))
    lower = {name.lower(): name for name in there}
    found = {role: next((lower[n] for n in names if n in lower), None) for role, names in USUAL.items()}
    missing = [name for name in named.values() if name not in there]
    if missing:
        fix = f"the file has {', '.join(there[:12])}"[:200]
        raise ConfigError("table-columns", f"no column named {missing[0]!r}", where=file.name, fix=fix)
    return {role: name for role, name in {**found, **named}.items() if name is not None}


def _read_rows(frame: pl.DataFrame, prefix: str) -> Iterator[pa.RecordBatch]:
    present = set(frame.columns)
    rows = frame.with_columns(concept_id=curies(pl.col("id"), prefix))
    kinds = pl.col("kind").str.to_lowercase().replace_strict(_KINDS, default=int(NameKind.EXACT), return_dtype=pl.UInt8)
    shown = rows.select(
        "concept_id", "name",
        kinds if "kind" in present else kind(NameKind.PREFERRED),
        *[_filled(name) for name in ("language", "source", "definition") if name in present],
        *([curies(_filled("replaced_by"), prefix).alias("replaced_by")] if "replaced_by" in present else []),
        *([bar_list("types").alias("semantic_types")] if "types" in present else []),
        *([bar_list("xrefs").list.eval(curies(pl.element(), prefix)).alias("xrefs")] if "xrefs" in present else []),
    )  # fmt: skip
    yield from batches(shown)
    if "synonyms" in present:
        others = rows.with_columns(name=bar_list("synonyms")).explode("name").filter(pl.col("name").is_not_null())
        yield from batches(
            others.select(
                "concept_id", "name", kind(NameKind.EXACT), *[_filled(n) for n in ("language", "source") if n in present]
            )
        )


def _filled(column: str) -> pl.Expr:
    """Return a column with its empty cells unknown."""
    return pl.when(pl.col(column) != "").then(pl.col(column)).alias(column)
