"""Validates FHIR resources and OMOP tables, with fhir.resources, pyomop, and rules that fhir.resources does not check.

fhir.resources checks elements, types and cardinalities. It lists the codes that an element may have but accepts others, and its
patterns may match anywhere in a value. The rules here follow the specification: only listed codes; full matches of `string`,
`code` and `id`; `ele-1` (no empty elements); `ext-1` (an extension has a value or extensions); and the constraints of
ConceptMap.
"""

from __future__ import annotations

import csv
import datetime
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import BaseModel, ValidationError
from sqlalchemy.exc import SQLAlchemyError

VERSIONS = {"R4B": "fhir.resources.R4B", "R5": "fhir.resources"}
_STRING = re.compile(r"[ \r\n\t\S]*\S[ \r\n\t\S]*")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_ID = re.compile(r"[A-Za-z0-9\-.]{1,64}")
_CODE = re.compile(r"\S+( \S+)*")
_URI = re.compile(r"\S+")
_CODES = ("code", "valueCode", "relationship", "equivalence", "status")
_URIS = ("url", "system")


def fhir_problems(resource: dict[str, Any], version: str) -> list[str]:
    """Return the errors in a resource of R4B or R5."""
    try:
        model = model_of(resource["resourceType"], version)
        found = model.model_validate_json(json.dumps(resource))
    except (ValidationError, ValueError, KeyError, ModuleNotFoundError) as e:
        return [f"fhir.resources: {type(e).__name__}"]
    content = {key: value for key, value in resource.items() if key != "resourceType"}
    return [*_iter_unlisted(found), *_iter_malformed(content), *_inconsistent(resource)]


def model_of(kind: str, version: str) -> type[BaseModel]:
    """Return the class of a resource or a data type."""
    found = getattr(import_module(f"{VERSIONS[version]}.{kind.lower()}"), kind)
    assert isinstance(found, type)
    assert issubclass(found, BaseModel)
    return found


def _iter_unlisted(value: Any) -> Iterator[str]:
    """Yield the elements whose code is not listed in the specification."""
    if isinstance(value, list):
        for each in value:
            yield from _iter_unlisted(each)
    elif isinstance(value, BaseModel):
        for name, info in type(value).model_fields.items():
            inner, extra = getattr(value, name), info.json_schema_extra
            listed = extra.get("enum_values") if isinstance(extra, dict) else None
            if listed and inner is not None and inner not in listed:  # type: ignore[operator]
                yield f"{name}: an unlisted code"
            yield from _iter_unlisted(inner)


def _iter_malformed(value: Any, name: str = "") -> Iterator[str]:
    """Yield violations of the rules for strings, codes, URIs, extensions and empty elements."""
    if value in ("", None, [], {}):
        yield f"{name}: empty"
    elif isinstance(value, list):
        for each in value:
            yield from _iter_malformed(each, name)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _iter_malformed(inner, key)
        if "url" in value and set(value) - {"id"} != {"url"} and name == "extension":
            if ("extension" in value) == any(key.startswith("value") for key in value):
                yield "extension: ext-1"
        elif name == "extension":
            yield "extension: without a value"
    elif isinstance(value, str):
        pattern = _URI if name in _URIS else _CODE if name in _CODES else _ID if name == "id" else _STRING
        if not pattern.fullmatch(value) or _CONTROLS.search(value):
            yield f"{name}: malformed"


def _inconsistent(resource: dict[str, Any]) -> Iterator[str]:
    """Yield violations of the constraints of ConceptMap."""
    elements = [each for group in resource.get("group", ()) for each in group["element"]]
    for element in elements:
        targets = element.get("target", [])
        if element.get("noMap") and targets:
            yield "cmd-4: targets of what has none"
        if "code" not in element or not (targets or element.get("noMap")):
            yield "element: maps nothing"
        for target in targets:
            if ("code" in target) == (target.get("equivalence") == "unmatched"):
                yield "target: a match without a code, or a code without a match"
            if target.get("equivalence") in ("narrower", "inexact") and "comment" not in target:
                yield "cmd-1: no comment"
    for group in resource.get("group", ()):
        codes = [element.get("code") for element in group["element"]]
        if len(set(codes)) < len(codes):
            yield "group: a code twice"
        if "source" not in group or "target" not in group:
            yield "group: no code systems"


# Validates CSV files against pyomop's OMOP tables, in an SQLite database that enforces keys.

logging.getLogger("pyomop").setLevel(logging.ERROR)  # pyomop warns that no language model is configured

Row = dict[str, Any]
_DAY = "%Y%m%d"  # Athena's date format


class OmopDatabase:
    """An in-memory database with pyomop's tables of CDM 5.4."""

    def __init__(self) -> None:
        from pyomop.cdm54 import Base

        self._engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
        sa.event.listen(self._engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys = ON"))
        self.tables = Base.metadata.tables
        Base.metadata.create_all(self._engine)

    def add_concepts(self, path: Path) -> None:
        """Insert the concepts of an Athena file, and the vocabularies, domains and classes that they refer to."""
        with path.open(encoding="utf-8", newline="") as file:
            rows = [_values(row, self.tables["concept"], _athena_day) for row in csv.DictReader(file, delimiter="\t")]
        named = {
            kind: sorted({row[f"{kind}_id"] for row in rows} | ({"None"} if kind == "vocabulary" else set()))
            for kind in ("vocabulary", "domain", "concept_class")
        }
        with self._engine.begin() as connection:
            connection.execute(sa.text("PRAGMA defer_foreign_keys = ON"))
            connection.execute(sa.insert(self.tables["concept"]), rows)
            for kind, names in named.items():
                connection.execute(
                    sa.insert(self.tables[kind]), [_make_naming_row(self.tables[kind], kind, name) for name in names]
                )

    def add_vocabulary(self, name: str) -> None:
        """Insert a vocabulary, as a site does for its own codes."""
        with self._engine.begin() as connection:
            connection.execute(
                sa.insert(self.tables["vocabulary"]), [_make_naming_row(self.tables["vocabulary"], "vocabulary", name)]
            )

    def invalid_rows(self, path: Path, name: str) -> int:
        """Insert a file into a table, and return how many rows were rejected or changed."""
        table = self.tables[name]
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if list(reader.fieldnames or ()) != list(table.columns.keys()):
                return 1 + sum(1 for _ in reader)
            rows, refused = _check_rows(reader, table)
        return refused + self._insert(table, rows)

    def clear(self, name: str) -> None:
        """Remove all rows of a table."""
        with self._engine.begin() as connection:
            connection.execute(sa.delete(self.tables[name]))

    def count(self, name: str) -> int:
        """Return how many rows a table has."""
        with self._engine.connect() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(self.tables[name])).scalar_one())

    def _insert(self, table: sa.Table, rows: list[Row]) -> int:
        before = self.count(table.name)
        if rows and self._refuses(table, rows):
            return sum(self._refuses(table, [row]) for row in rows)
        with self._engine.connect() as connection:
            stored = [_freeze(dict(row)) for row in connection.execute(sa.select(table)).mappings()]
        there = set(stored)
        return abs(len(stored) - before - len(rows)) + sum(_freeze(row) not in there for row in rows)

    def _refuses(self, table: sa.Table, rows: list[Row]) -> bool:
        try:
            with self._engine.begin() as connection:
                connection.execute(sa.insert(table), rows)
        except SQLAlchemyError:
            return True
        return False


def _freeze(row: Row) -> tuple[Any, ...]:
    return tuple(row.values())


def _check_rows(reader: Iterable[dict[str, str]], table: sa.Table) -> tuple[list[Row], int]:
    """Return the rows that are valid for the columns, and the number of invalid rows."""
    rows, refused = [], 0
    for row in reader:
        try:
            rows.append(_values(row, table, datetime.date.fromisoformat))
        except (TypeError, ValueError):
            refused += 1
    return rows, refused


def _values(row: dict[str, str], table: sa.Table, day: Callable[[str], datetime.date]) -> Row:
    if None in row or None in row.values():
        raise ValueError("a row has more or fewer cells than the header")
    return {column.name: _value(row[column.name], column, day) for column in table.columns}


def _value(cell: str, column: sa.Column[Any], day: Callable[[str], datetime.date]) -> Any:
    """Convert a cell to the column's type; an empty cell is NULL."""
    kind = column.type
    if cell == "":
        if column.nullable or column.name == "concept_name":
            return None if column.nullable else ""
        raise ValueError(f"{column.name} is NULL")
    if isinstance(kind, sa.Integer):
        return _whole_number(cell)
    if isinstance(kind, sa.DateTime):
        return datetime.datetime.fromisoformat(cell)
    if isinstance(kind, sa.Date):
        return day(cell)
    if (
        isinstance(kind, sa.String)
        and kind.length is not None
        and len(cell) > min(kind.length, _SHORTER.get(column.name, 9999))
    ):
        raise ValueError(f"{column.name} is too long")
    return cell


_SHORTER = {"source_code": 50}
"""What CDM 5.4 has where pyomop allows more."""


def _whole_number(cell: str) -> int:
    if not cell.isascii() or not cell.isdecimal() or int(cell) >= 2**31:
        raise ValueError("not a 32-bit integer")
    return int(cell)


def _athena_day(cell: str) -> datetime.date:
    return datetime.datetime.strptime(cell, _DAY).replace(tzinfo=datetime.UTC).date()


def _make_naming_row(table: sa.Table, kind: str, name: str) -> Row:
    """Return a row that defines a vocabulary, domain or class, with its other required columns filled."""
    values = dict(_fill(table))
    return values | {f"{kind}_id": name, f"{kind}_name": name}


def _fill(table: sa.Table) -> Iterator[tuple[str, Any]]:
    for column in table.columns:
        if not column.nullable:
            yield column.name, 0 if isinstance(column.type, sa.Integer) else "-"
