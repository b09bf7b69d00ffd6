"""Converts dataclass fields to and from JSON values and table cells.

A field holds a string, a number, a value of a `Literal`, a tuple of these, or None if unknown; its annotation says which. Its
metadata may rename its table column (`column`) or mark a number as a probability (`PROBABILITY`).

In JSON, None is omitted, and so is 0 for a count that is not optional. In a table, a tuple is one cell, joined by commas.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    import polars as pl

_COLUMN, _PROBABILITY = "column", "probability"
PROBABILITY: Mapping[str, Any] = {_PROBABILITY: True}
"""Field metadata for a probability: a number between 0 and 1."""


def column(name: str) -> Mapping[str, Any]:
    """Return field metadata that sets the name of the table column; an empty name keeps the field out of tables."""
    return {_COLUMN: name}


@dataclass(frozen=True, slots=True)
class PlainField:
    """Describes how a dataclass field is serialised. `words` are its allowed values; empty means any value."""

    name: str
    column: str
    kind: type
    words: tuple[str, ...] = ()
    is_list: bool = False
    is_optional: bool = True
    is_probability: bool = False

    @property
    def cell_kind(self) -> type:
        """The type of a cell: `str`, `int` or `float`."""
        return str if self.is_list else self.kind

    def is_known(self, value: Any) -> bool:
        """Return whether JSON includes this value. None, and 0 in a required integer field, mean unknown and are omitted."""
        return value is not None and (self.is_optional or self.kind is not int or value != 0)

    def to_plain(self, value: Any) -> Any:
        """Convert a value for JSON."""
        return list(value) if isinstance(value, tuple) else value

    def to_cell(self, value: Any) -> Any:
        """Convert a value to a table cell."""
        return ",".join(value or ()) or None if self.is_list else value

    def from_cell(self, cell: Any) -> Any:
        """Convert a cell back to the value that `to_cell` got. An empty tuple comes back as None."""
        return tuple(cell.split(",")) if self.is_list and cell else cell

    def from_plain(self, plain: Any) -> Any:
        """Convert a value from JSON. A `ValueError` says what is wrong without quoting the value."""
        if not self.is_list:
            return self._read(plain)
        if not isinstance(plain, list):
            raise ValueError(f"{self.name!r} should be a list")
        return tuple(map(self._read, plain))

    def _read(self, plain: Any) -> Any:
        if self.kind is str:
            return self._read_text(plain)
        if isinstance(plain, bool) or not isinstance(plain, int if self.kind is int else int | float):
            raise ValueError(f"{self.name!r} should be a {'whole ' if self.kind is int else ''}number")
        if self.kind is int and plain < 0:
            raise ValueError(f"{self.name!r} is negative")
        if not math.isfinite(plain) or (self.is_probability and not 0 <= plain <= 1):
            raise ValueError(f"{self.name!r} is not a {'probability' if self.is_probability else 'finite number'}")
        return self.kind(plain)

    def _read_text(self, plain: Any) -> str | None:
        if not isinstance(plain, str):
            raise ValueError(f"{self.name!r} should be a string")
        if self.words and plain not in self.words:
            raise ValueError(f"{self.name!r} is not one of the allowed values")
        return plain or None


def plain_fields(owner: type, names: Iterable[str]) -> tuple[PlainField, ...]:
    """Return how the named fields of a dataclass are serialised, in the order of `names`.

    >>> plain_fields(PlainField, ["column", "words", "is_optional"])[1].is_list
    True
    """
    hints, found = get_type_hints(owner), {field.name: field for field in fields(owner)}
    return tuple(_plain_field(name, hints[name], found[name].metadata) for name in names)


def _plain_field(name: str, hint: Any, metadata: Mapping[str, Any]) -> PlainField:
    options = [each for each in get_args(hint) if each is not NoneType]
    is_optional = NoneType in get_args(hint)
    (hint,) = options if is_optional else (hint,)
    is_list = get_origin(hint) is tuple
    hint = get_args(hint)[0] if is_list else hint
    words = get_args(hint) if get_origin(hint) is Literal else ()
    kind = str if words else hint
    named = metadata.get(_COLUMN, name)
    return PlainField(name, named, kind, words, is_list, is_optional, metadata.get(_PROBABILITY, False))


def to_plain(value: object, known: Sequence[PlainField]) -> dict[str, Any]:
    """Return the fields of a dataclass instance as JSON values, by field name; None is omitted."""
    found = ((field, getattr(value, field.name)) for field in known)
    return {field.name: field.to_plain(each) for field, each in found if field.is_known(each)}


def from_plain(plain: Mapping[Any, Any], known: Sequence[PlainField]) -> dict[str, Any]:
    """Convert JSON values to keyword arguments of the dataclass; raise `ValueError` for an invalid value."""
    return {field.name: field.from_plain(plain[field.name]) for field in known if plain.get(field.name) is not None}


def object_in(plain: Mapping[Any, Any], key: str) -> dict[str, Any]:
    """Return the JSON object with this key, empty if there is none; raise `ValueError` if the value is not an object.

    >>> object_in({"extra": {"sections": "plan"}}, "extra")
    {'sections': 'plan'}
    """
    value = plain.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(f"{key} is not an object")
    return value


def from_cells(row: Mapping[str, Any], known: Sequence[PlainField]) -> dict[str, Any]:
    """Convert the cells of a table row to keyword arguments of the dataclass."""
    cells = ((field, row.get(field.column)) for field in known if field.column)
    return {field.name: field.from_cell(cell) for field, cell in cells if cell is not None}


def frame_of(rows: Sequence[Sequence[Any]], columns: Mapping[str, type]) -> pl.DataFrame:
    """Return rows as a polars DataFrame; `columns` maps each column name to its type.

    >>> frame_of([("fever", 5)], {"text": str, "end": int}).to_dicts()
    [{'text': 'fever', 'end': 5}]
    """
    import polars as pl

    kinds = {int: pl.Int64, float: pl.Float64, str: pl.String}
    schema = {name: kinds[kind] for name, kind in columns.items()}
    return pl.DataFrame({name: [row[at] for row in rows] for at, name in enumerate(columns)}, schema=schema)
