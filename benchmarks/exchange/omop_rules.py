"""Whether a CSV file fits a table of OMOP: by pyomop's definitions, in an SQLite database that enforces keys.

SQLite neither refuses a text that is too long nor one where a number should be, so columns, types, lengths and NULLs are
compared with the definitions first. Then the rows are inserted, with foreign keys to the concepts of the same database.
"""

from __future__ import annotations

import csv
import datetime
import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

logging.getLogger("pyomop").setLevel(logging.ERROR)  # which warns that it has no language model

Row = dict[str, Any]
_DAY = "%Y%m%d"  # as Athena writes it


class OmopDatabase:
    """A database in memory with the tables of CDM 5.4 as pyomop defines them."""

    def __init__(self) -> None:
        from pyomop.cdm54 import Base

        self._engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
        sa.event.listen(self._engine, "connect", lambda connection, _: connection.execute("PRAGMA foreign_keys = ON"))
        self.tables = Base.metadata.tables
        Base.metadata.create_all(self._engine)

    def add_concepts(self, path: Path) -> None:
        """Insert the concepts of an Athena file, and the vocabularies, domains and classes that they name."""
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
                connection.execute(sa.insert(self.tables[kind]), [_named(self.tables[kind], kind, name) for name in names])

    def add_vocabulary(self, name: str) -> None:
        """Insert a vocabulary, as a site does for its own codes."""
        with self._engine.begin() as connection:
            connection.execute(sa.insert(self.tables["vocabulary"]), [_named(self.tables["vocabulary"], "vocabulary", name)])

    def invalid_rows(self, path: Path, name: str) -> int:
        """Insert a file into a table, and return how many rows were refused, or came back otherwise than they were."""
        table = self.tables[name]
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if list(reader.fieldnames or ()) != list(table.columns.keys()):
                return 1 + sum(1 for _ in reader)
            rows, refused = _checked(reader, table)
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
            stored = [_frozen(dict(row)) for row in connection.execute(sa.select(table)).mappings()]
        there = set(stored)
        return abs(len(stored) - before - len(rows)) + sum(_frozen(row) not in there for row in rows)

    def _refuses(self, table: sa.Table, rows: list[Row]) -> bool:
        try:
            with self._engine.begin() as connection:
                connection.execute(sa.insert(table), rows)
        except SQLAlchemyError:
            return True
        return False


def _frozen(row: Row) -> tuple[Any, ...]:
    return tuple(row.values())


def _checked(reader: Iterable[dict[str, str]], table: sa.Table) -> tuple[list[Row], int]:
    """Return the rows that fit the columns, and how many do not."""
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
    """Return a cell as the column's type; an empty one is NULL."""
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
        raise ValueError("no 32-bit whole number")
    return int(cell)


def _athena_day(cell: str) -> datetime.date:
    return datetime.datetime.strptime(cell, _DAY).replace(tzinfo=datetime.UTC).date()


def _named(table: sa.Table, kind: str, name: str) -> Row:
    """Return a row that names a vocabulary, a domain or a class, its other columns filled as they must be."""
    values = dict(_fill(table))
    return values | {f"{kind}_id": name, f"{kind}_name": name}


def _fill(table: sa.Table) -> Iterator[tuple[str, Any]]:
    for column in table.columns:
        if not column.nullable:
            yield column.name, 0 if isinstance(column.type, sa.Integer) else "-"
