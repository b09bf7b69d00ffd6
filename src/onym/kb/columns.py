"""Turns columns of a data frame into columns of an artefact: sorted values, codes, offsets and strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from onym.store.arrays import Strings

Ints = npt.NDArray[Any]


def encode_values(column: pl.Series) -> tuple[pl.Series, npt.NDArray[np.uint32]]:
    """Return the sorted distinct values, and the index of each row's value.

    >>> values, codes = encode_values(pl.Series(["b", "a", "b"]))
    >>> values.to_list(), codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    values = column.unique().sort()
    table = values.alias("value").to_frame().with_row_index("code")
    codes = column.alias("value").to_frame().join(table, on="value", how="left", maintain_order="left")["code"]
    return values, codes.to_numpy().astype(np.uint32)


def encode_used_values(column: pl.Series, rows: Ints) -> tuple[pl.Series, npt.NDArray[np.uint32]]:
    """Like `encode_values`, but only for the given rows; the codes of other rows are undefined."""
    used = np.zeros(len(column), dtype=bool)
    used[rows] = True
    if used.all():
        return encode_values(column)
    values, some = encode_values(column.filter(pl.Series(used)))
    codes = np.zeros(len(column), dtype=np.uint32)
    codes[used] = some
    return values, codes


def starts(values: Ints) -> npt.NDArray[np.bool_]:
    """Return True at the first row of each value of a sorted column."""
    first = np.ones(len(values), dtype=bool)
    first[1:] = values[1:] != values[:-1]
    return first


def distinct(values: Ints) -> Ints:
    """Return the sorted distinct values; `np.unique` uses hashing, which is ten times slower here."""
    values = np.sort(values)
    return values[starts(values)]


def counts_to_offsets(counts: Ints) -> npt.NDArray[np.int64]:
    """Return the offsets of consecutive lists, given their lengths."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def group_values(owner: Ints, values: Ints, owners: int) -> tuple[npt.NDArray[np.int64], Ints]:
    """Return the sorted distinct values of each owner, as offsets and values."""
    key = distinct(owner.astype(np.uint64) << 32 | values.astype(np.uint64))
    offsets = counts_to_offsets(np.bincount((key >> 32).astype(np.int64), minlength=owners))
    return offsets, (key & 0xFFFFFFFF).astype(np.uint32)


def to_strings(column: pl.Series) -> Strings:
    """Return a polars column of strings as `Strings` (bytes and offsets)."""
    array = column.rechunk().to_arrow()
    array = array.cast(pa.large_string()) if array.type != pa.large_string() else array
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    _, offsets, data = array.buffers()
    ends = (
        np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
        if len(array)
        else np.zeros(1, np.int64)
    )
    raw = (
        np.frombuffer(data, dtype=np.uint8)[int(ends[0]) : int(ends[-1])]
        if data is not None and len(data)
        else np.empty(0, np.uint8)
    )
    ends = ends - ends[0]
    return Strings(ends.astype("<u4" if ends[-1] < 2**32 else "<u8"), raw)
