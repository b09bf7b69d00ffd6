"""Rows of a Parquet file after they were decoded: counted by what they stand for, before Python makes anything of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onym.errors import InputError, LimitError
from onym.store.limits import MIB, Limits

_ROWS, _BYTES = 256, 8 * MIB  # of a batch
_CELL = 8  # bytes that any value counts for, besides its text


class DecodedRows:
    """Rows of a file of `size` bytes on their way out, counted by what they stand for."""

    def __init__(self, name: str, size: int, limits: Limits) -> None:
        self._name, self._size, self._limits = name, size, limits
        self._total = 0

    def of(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of batches in smaller ones, without dictionaries."""
        for batch in batches:
            costs = sum((self._costs(column) for column in batch.columns), np.zeros(batch.num_rows, dtype=np.int64))
            if batch.num_rows and int(costs.max()) > 2 * self._limits.document_bytes:
                raise self._too_long()
            start = 0
            for end in _ends(costs):
                self._count(int(costs[start:end].sum()))
                yield _without_dictionaries(batch.slice(start, end - start))
                start = end

    def _count(self, size: int) -> None:
        self._total += size
        limits = self._limits
        if self._total > max(limits.ratio_grace_bytes, limits.ratio * self._size):
            what = f"stands for more than {limits.ratio} times its size, as a decompression bomb does"
            raise LimitError("limit-ratio", what, where=self._name)

    def _costs(self, array: pa.Array) -> npt.NDArray[np.int64]:
        """Return what each member stands for, in bytes."""
        import pyarrow.compute as pc

        kind = array.type
        if pa.types.is_dictionary(kind):
            self._require_known(array)
            lengths = np.append(self._costs(array.dictionary), _CELL)  # the last one is null's
            shared: npt.NDArray[np.int64] = lengths[array.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
            return shared
        if pa.types.is_struct(kind):
            costs = np.full(len(array), _CELL, dtype=np.int64)
            for field in array.flatten():
                costs += self._costs(field)
            return costs
        if pa.types.is_list(kind):
            offsets = array.offsets.to_numpy()
            inner = self._costs(array.values.slice(offsets[0], offsets[-1] - offsets[0]))
            total: npt.NDArray[np.int64] = np.concatenate(([0], np.cumsum(inner)))
            ends: npt.NDArray[np.int64] = total[offsets - offsets[0]]
            return np.diff(ends) + _CELL
        if pa.types.is_string(kind):
            own: npt.NDArray[np.int64] = pc.binary_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            if len(own) and int(own.max()) > self._limits.document_bytes:
                raise self._too_long()
            return own + _CELL
        return np.full(len(array), _CELL, dtype=np.int64)

    def _require_known(self, array: pa.DictionaryArray) -> None:
        """Refuse numbers that a dictionary does not have: Arrow would read what lies beside it."""
        import pyarrow.compute as pc

        numbers = pc.min_max(array.indices).as_py()
        if numbers["min"] is not None and not 0 <= numbers["min"] <= numbers["max"] < len(array.dictionary):
            what = "a value is not in its dictionary"
            raise InputError("parquet-malformed", what, where=self._name, fix="write it again")

    def _too_long(self) -> LimitError:
        what = f"a document is longer than {self._limits.document_bytes:,} bytes"
        return LimitError("limit-record", what, where=self._name)


def _ends(costs: npt.NDArray[np.int64]) -> Iterator[int]:
    """Yield where batches end: before rows get large together, and at the end."""
    total = np.cumsum(costs)
    start = 0
    while start < len(costs):
        before = int(total[start - 1]) if start else 0
        start = max(start + 1, min(start + _ROWS, int(np.searchsorted(total, before + _BYTES, side="right"))))
        yield start


def _without_dictionaries(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_plain(column) for column in batch.columns], names=batch.schema.names)


def _plain(array: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    kind, is_null = array.type, array.is_null() if array.null_count else None
    if pa.types.is_dictionary(kind):
        return array.dictionary_decode()
    if pa.types.is_struct(kind):
        names = [kind.field(n).name for n in range(kind.num_fields)]
        return pa.StructArray.from_arrays([_plain(each) for each in array.flatten()], names=names, mask=is_null)
    if pa.types.is_list(kind):
        offsets = array.offsets
        values = array.values.slice(offsets[0].as_py(), offsets[-1].as_py() - offsets[0].as_py())
        return pa.ListArray.from_arrays(pc.subtract(offsets, offsets[0]), _plain(values), mask=is_null)
    return array
