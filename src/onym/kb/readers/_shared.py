"""Helpers shared by readers: files, tables, JSON values, and kinds of synonyms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars as pl
import pyarrow as pa

from onym.errors import InputError
from onym.kb.curie import curies
from onym.kb.schema import SCHEMA
from onym.store.files.source import InputFile
from onym.store.files.table import TableFormat, iter_table
from onym.types import NameKind, ParentKind

_HEAD = 64 * 1024
# UMLS and RxNorm use ISO 639-2/B language codes, Onym ISO 639-1.
LANGUAGES = {
    "BAQ": "eu", "CHI": "zh", "CZE": "cs", "DAN": "da", "DUT": "nl", "ENG": "en", "EST": "et", "FIN": "fi", "FRE": "fr",
    "GER": "de", "GRE": "el", "HEB": "he", "HUN": "hu", "ITA": "it", "JPN": "ja", "KOR": "ko", "LAV": "lv", "NOR": "no",
    "POL": "pl", "POR": "pt", "RUS": "ru", "SCR": "hr", "SPA": "es", "SWE": "sv", "TUR": "tr", "UKR": "uk", "ARA": "ar",
}  # fmt: skip


def head(file: InputFile) -> bytes:
    """Return the first 64 KB of a file, without a byte order mark and leading whitespace."""
    return file.head(_HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()


def matching_files(files: list[InputFile], looks_right: Callable[[InputFile], bool]) -> list[InputFile]:
    """Return the files that look right; if none does, return all, so that reading reports what is wrong with them."""
    return [file for file in files if looks_right(file)] or files


_COMPACT = pl.CompatLevel.oldest()  # strings as contiguous bytes, as in the schema


def batches(frame: pl.DataFrame) -> Iterator[pa.RecordBatch]:
    """Yield the frame as batches in the schema of all readers; missing columns are null.

    >>> [batch.schema.equals(SCHEMA) for batch in batches(pl.DataFrame({"concept_id": ["demo:1"], "name": ["Fever"]}))]
    [True]
    """
    if frame.height:
        rows = frame.select(name for name in SCHEMA.names if name in frame.columns).to_arrow(compat_level=_COMPACT)
        columns = [
            rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(frame.height, field.type)
            for field in SCHEMA
        ]
        yield from pa.table(columns, schema=SCHEMA).to_batches()


def iter_rrf(file: InputFile, fields: list[str], wanted: list[str]) -> Iterator[pl.DataFrame]:
    """Yield the wanted columns of a file in Rich Release Format: separated by bars, with a bar at the end of each row."""
    for batch in iter_table(file, TableFormat(delimiter="|", names=(*fields, "end")), wanted):
        yield pl.DataFrame(batch)


def kind(value: NameKind) -> pl.Expr:
    """Return a kind of name as a literal column."""
    return pl.lit(int(value), dtype=pl.UInt8).alias("kind")


def taxon(column: str) -> pl.Expr:
    """Return taxon ids as the semantic types that state the species of genes and cell lines."""
    return "ncbitaxon:" + pl.col(column)


def bar_list(column: str, separator: str = "|") -> pl.Expr:
    """Split a column such as `a| b|c` into lists; members are stripped, and empty ones dropped."""
    member = pl.element().str.strip_chars()
    return pl.col(column).str.split(separator).list.eval(member.filter(member != ""))


def curie_lists(frame: pl.DataFrame, column: str, prefix: str) -> pl.Series:
    """Return a column of ids separated by `|` as lists of CURIEs, null if empty; `list.eval` would need milliseconds a row.

    >>> curie_lists(pl.DataFrame({"ids": ["MESH:D1| D2", ""]}), "ids", "mesh").to_list()
    [['mesh:D1', 'mesh:D2'], None]
    """
    rows = frame.select(ids=bar_list(column)).with_row_index("row")
    ids = rows.explode("ids").drop_nulls().select("row", ids=curies(pl.col("ids"), prefix))
    lists = ids.group_by("row", maintain_order=True).agg("ids")
    return rows.select("row").join(lists, on="row", how="left", maintain_order="left")["ids"]


def omim_numbers() -> pl.Expr:
    """Return an expression for `list.eval` that prefixes bare numbers with `omim:`, as MEDIC writes OMIM ids without prefix."""
    return pl.element().str.replace(r"^([0-9]+)$", "omim:${1}")


def require_object(value: Any, file: InputFile) -> dict[str, Any]:
    """Return the value if it is a JSON object, else raise InputError."""
    if not isinstance(value, dict):
        raise shape_error(f"expected an object, found {_kind(value)}", file)
    return value


def shape_error(what: str, file: InputFile) -> InputError:
    """Return the error for JSON that does not have the expected structure."""
    return InputError("json-shape", what, where=file.name, fix="correct the file, or give another format with --format")


def string(value: dict[str, Any], key: str, file: InputFile) -> str | None:
    """Return the string at `key`, or None if it is missing or empty."""
    found = value.get(key)
    if found is None or isinstance(found, str):
        return found or None
    raise shape_error(f"{key!r} should be a string, not {_kind(found)}", file)


def strings(value: dict[str, Any], key: str, file: InputFile) -> list[str]:
    """Return the list of strings at `key`; empty if it is missing."""
    found = value.get(key)
    if found is None:
        return []
    if isinstance(found, list) and all(isinstance(member, str) for member in found):
        return found
    raise shape_error(f"{key!r} should be a list of strings", file)


def objects(value: dict[str, Any], key: str, file: InputFile) -> list[dict[str, Any]]:
    """Return the list of objects at `key`; empty if it is missing."""
    found = value.get(key)
    if found is None:
        return []
    if isinstance(found, list):
        return [require_object(member, file) for member in found]
    raise shape_error(f"{key!r} should be a list of objects", file)


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}.get(type(value), "a number")


ABBREVIATION_TAGS = ("ABB", "ABX", "ACR", "ACX")  # MeSH lexical tags of abbreviations and acronyms, also embedded ones


def branches(tree_numbers: Iterable[str]) -> list[str]:
    """Return the top-level branches of MeSH tree numbers.

    >>> branches(["C04.557.337", "C04.588", "C15.604"])
    ['C04', 'C15']
    """
    return sorted({number.strip()[:3] for number in tree_numbers if number.strip()})


def tree_parents(trees: list[pl.DataFrame]) -> Iterator[pa.RecordBatch]:
    """Yield the parents of MeSH headings, given frames of (concept_id, tree): C04.557.337 is below C04.557.

    >>> trees = pl.DataFrame({"concept_id": ["mesh:D1", "mesh:D2"], "tree": ["C04.557", "C04.557.337"]})
    >>> [batch.select(["concept_id", "parents"]).to_pylist() for batch in tree_parents([trees])]
    [[{'concept_id': 'mesh:D2', 'parents': ['mesh:D1']}]]
    """
    rows = pl.concat([pl.DataFrame(schema={"concept_id": pl.String, "tree": pl.String}), *trees])
    above = rows.select(tree="tree", parent="concept_id")
    below = rows.with_columns(tree=pl.col("tree").str.extract(r"^(.*)\.[^.]*$", 1)).drop_nulls()
    pairs = below.join(above, on="tree", maintain_order="left_right").select("concept_id", "parent").unique(maintain_order=True)
    found = pairs.group_by("concept_id", maintain_order=True).agg(parents="parent")
    yield from batches(found.with_columns(parent_kind=pl.lit(int(ParentKind.BROADER), dtype=pl.UInt8)))


_ABBREVIATIONS = {"abbreviation", "acronym", "omo:0003000", "omo_0003000", "omo:0003012", "omo_0003012"}
_WITHDRAWN = {"obsolete_synonym", "deprecated", "exclude"}  # synonym types of HPO (first) and MONDO (the others)
_NOT_NAMES = {"formula", "smiles", "inchi", "inchikey"}  # ChEBI lists these among the synonyms


def synonym_kind(scope: NameKind, type_name: str) -> NameKind | None:
    """Return the kind of a synonym, or None if it is not a name (such as a formula).

    >>> synonym_kind(NameKind.EXACT, "http://purl.obolibrary.org/obo/mondo#ABBREVIATION").label
    'abbreviation'
    """
    last = type_name.rpartition("#")[2].rpartition("/")[2].lower()
    if last in _NOT_NAMES:
        return None
    if last in _WITHDRAWN:
        return NameKind.SUPPRESSED
    return NameKind.ABBREVIATION if last in _ABBREVIATIONS else scope
