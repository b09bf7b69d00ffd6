"""TF-IDF similarity of names: cosine of character 3-grams within words.

Needs only NumPy. If sparse_dot_topn is installed (in `onym[train]`), searches with many queries are several times faster.
They return the same scores, but of the names that tie at the cut-off, others may be listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onym.store.arrays import Strings

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
_BITS = 21  # bits per code point, so that three fit in 64 bits
_SPACE = ord(" ")
_BATCH = 50_000  # texts per batch


class GramCounts(NamedTuple):
    """3-gram counts of texts, in CSR layout, sorted within each text. *Shape:* offsets (texts + 1,), grams and times (n,)."""

    offsets: Ints
    grams: npt.NDArray[Any]
    times: npt.NDArray[Any]


@dataclass(frozen=True)
class Vectors:
    """A sparse matrix in CSR layout: the columns and weights of row `i` are at `offsets[i]:offsets[i + 1]`."""

    offsets: Ints
    columns: npt.NDArray[Any]
    weights: Floats

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def transpose(self, width: int) -> Vectors:
        """Return the transposed matrix. scipy computes the same in a fifth of the time."""
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            return self._transpose(width)
        found = csr_matrix((self.weights, self.columns.astype(np.int32), self.offsets), (len(self), width)).tocsc()
        return Vectors(found.indptr.astype(np.int64), found.indices, found.data)

    def _transpose(self, width: int) -> Vectors:
        rows = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))
        order = np.argsort(self.columns, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(self.columns, minlength=width))))
        return Vectors(offsets.astype(np.int64), rows[order], self.weights[order])


class GramVocabulary:
    """A sorted 3-gram vocabulary with IDF weights.

    >>> vocabulary, counts = GramVocabulary.of(["fever", "yellow fever"])
    >>> vectors = vocabulary.vectors(["fever"])
    >>> len(vocabulary), vectors.columns.tolist(), float((vectors.weights**2).sum().round(5))
    (11, [0, 3, 4, 5, 9], 1.0)
    """

    def __init__(self, grams: npt.NDArray[np.uint64], idf: Floats) -> None:
        self.grams, self.idf = grams, idf

    @classmethod
    def of(cls, texts: Sequence[str]) -> tuple[GramVocabulary, GramCounts]:
        """Fit a vocabulary to texts, of which empty ones do not count.

        Return the vocabulary, and the texts' 3-gram counts with vocabulary indices as grams.
        """
        parts = [_counts(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)] or [_counts([])]
        grams = np.unique(np.concatenate([np.unique(part.grams) for part in parts]))
        numbers = np.concatenate([np.searchsorted(grams, part.grams) for part in parts])
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        found = np.bincount(numbers, minlength=len(grams)).astype(np.float32)
        idf = np.log((np.float32(sum(map(bool, texts))) + 1) / (found + 1)).astype(np.float32) + np.float32(1)
        numbers = numbers.astype(np.uint16 if len(grams) <= 65_536 else np.uint32)
        return cls(grams, idf), GramCounts(offsets, numbers, np.concatenate([part.times for part in parts]))

    def __len__(self) -> int:
        return len(self.grams)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return the TF-IDF vectors of texts; 3-grams outside the vocabulary are ignored."""
        counts = _counts(texts)
        numbers = np.searchsorted(self.grams, counts.grams)
        is_known = np.zeros(len(numbers), dtype=bool)
        inside = numbers < len(self.grams)
        is_known[inside] = self.grams[numbers[inside]] == counts.grams[inside]
        known_before = np.concatenate(([0], np.cumsum(is_known)))
        return self.weigh(GramCounts(known_before[counts.offsets], numbers[is_known], counts.times[is_known]))

    def weigh(self, counts: GramCounts) -> Vectors:
        """Return the L2-normalised TF-IDF vectors of 3-gram counts."""
        weights = np.empty(len(counts.grams), dtype=np.float32)
        for at, part in _batches(counts):
            unscaled = self._weigh_unscaled(part)
            weights[at] = unscaled / np.repeat(_norms(unscaled, part.offsets), np.diff(part.offsets))
        return Vectors(counts.offsets, counts.grams, weights)

    def norms(self, counts: GramCounts) -> npt.NDArray[np.float64]:
        """Return the L2 norm of each text's weights, which `some_weights` needs to compute only the weights that are used."""
        found = [_norms(self._weigh_unscaled(part), part.offsets) for _, part in _batches(counts)]
        return np.concatenate([np.zeros(0), *found])

    def some_weights(self, counts: GramCounts, norms: npt.NDArray[np.float64], at: Ints, rows: npt.NDArray[Any]) -> Floats:
        """Return the weights at positions `at` of the given rows. They are bit-identical to those that `weigh` returns."""
        weights = counts.times[at].astype(np.float32) * self.idf[counts.grams[at]]
        return np.asarray((weights / norms[rows]).astype(np.float32))

    def _weigh_unscaled(self, counts: GramCounts) -> Floats:
        return np.asarray(counts.times.astype(np.float32) * self.idf[counts.grams])


def _batches(counts: GramCounts) -> Iterator[tuple[slice, GramCounts]]:
    """Yield the counts in batches of texts, each with its slice of the arrays, so that little memory is needed."""
    for start in range(0, len(counts.offsets) - 1, _BATCH):
        offsets = counts.offsets[start : start + _BATCH + 1]
        at = slice(int(offsets[0]), int(offsets[-1]))
        yield at, GramCounts(offsets - offsets[0], counts.grams[at], counts.times[at])


def _norms(weights: Floats, offsets: Ints) -> npt.NDArray[np.float64]:
    """Return the L2 norm of each row, or 1 for an empty row to avoid division by zero."""
    squares = np.append(weights * weights, np.float32(0))  # a 0 is added: reduceat needs a valid index for empty last rows
    sums = np.add.reduceat(squares, offsets[:-1], dtype=np.float64) if len(offsets) > 1 else np.zeros(0)
    sums[np.diff(offsets) == 0] = 0  # for an empty row, reduceat returns the value that follows instead of 0
    norms: npt.NDArray[np.float64] = np.sqrt(sums)
    norms[norms == 0] = 1
    return norms


def _counts(texts: Sequence[str]) -> GramCounts:
    """Count the 3-grams of each text. Each 3-gram is packed into one integer."""
    padded = [f" {' '.join(text.lower().split())} " for text in texts]
    points = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    rows = np.repeat(np.arange(len(padded)), [len(text) for text in padded])
    if len(points) < 3:
        return GramCounts(np.zeros(len(texts) + 1, dtype=np.int64), np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint8))
    grams = (points[:-2] << np.uint64(2 * _BITS)) | (points[1:-1] << np.uint64(_BITS)) | points[2:]
    inside = points[1:-1] != _SPACE  # drop 3-grams with a space in the middle: they span two words or texts
    grams, rows = grams[inside], rows[1:-1][inside]
    order = np.lexsort((grams, rows))
    grams, rows = grams[order], rows[order]
    is_first = np.ones(len(grams), dtype=bool)
    is_first[1:] = (grams[1:] != grams[:-1]) | (rows[1:] != rows[:-1])
    starts = np.flatnonzero(is_first)
    times = np.diff(np.append(starts, len(grams)))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(rows[starts], minlength=len(texts))))).astype(np.int64)
    return GramCounts(offsets, grams[starts], times.astype(np.uint8 if times.max(initial=0) < 256 else np.uint32))


def positions_of_rows(vectors: Vectors | GramCounts, rows: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the positions of all entries of the given rows, concatenated, and the number of entries of each row."""
    starts, lengths = vectors.offsets[rows], np.diff(vectors.offsets)[rows]
    before = np.concatenate(([0], np.cumsum(lengths)))[:-1]
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum())), lengths


Found = tuple[npt.NDArray[Any], npt.NDArray[np.float64]]
_DECIMALS = 6  # decimals of scores: rounded, so that names with the same 3-grams tie whatever the summation order
_THREADS = 2
_PAIRS = 20_000  # pairs compared per batch
_DENSE = 4_000_000  # maximum entries of the dense query matrix of a batch
_FEW_QUERIES = 16
FEW_CALLS = 3
"""Number of small calls that compute only the weights they need; later calls build the full matrix."""


class NameSimilarity:
    """A TF-IDF search index over names. Scores range from 0 (no common 3-gram) to 1 (the same 3-grams).

    >>> similarity = NameSimilarity(["heart attack", "heart failure", "fever"])
    >>> rows, scores = similarity.top(["heart atack"], 2)[0]
    >>> rows.tolist()
    [0, 1]
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._set(*GramVocabulary.of(names))

    @classmethod
    def of(cls, names: Strings) -> NameSimilarity:
        """Build the index from a column of a knowledge base."""
        return cls(names.to_arrow().to_pylist())

    @classmethod
    def of_counts(cls, vocabulary: GramVocabulary, counts: GramCounts) -> NameSimilarity:
        """Build the index from precomputed 3-gram counts."""
        made = object.__new__(cls)
        made._set(vocabulary, counts)
        return made

    def _set(self, vocabulary: GramVocabulary, counts: GramCounts, is_wanted: npt.NDArray[np.bool_] | None = None) -> None:
        self._vocabulary, self._counts, self._is_wanted = vocabulary, counts, is_wanted
        self._calls = 0
        self._whole: NameSimilarity = self

    @cached_property
    def _norms(self) -> npt.NDArray[np.float64]:
        return self._vocabulary.norms(self._counts) if self._whole is self else self._whole._norms  # noqa: SLF001 - same class

    @cached_property
    def _rows(self) -> Vectors:
        return self._vocabulary.weigh(self._counts) if self._whole is self else self._whole._rows  # noqa: SLF001 - same class

    @cached_property
    def _columns(self) -> Vectors:
        rows = self._rows
        if self._is_wanted is not None:
            is_kept = np.repeat(self._is_wanted, np.diff(rows.offsets))
            offsets = np.concatenate(([0], np.cumsum(is_kept)))[rows.offsets]
            rows = Vectors(offsets, rows.columns[is_kept], rows.weights[is_kept])
        return rows.transpose(len(self._vocabulary))

    def within(self, is_wanted: npt.NDArray[np.bool_]) -> NameSimilarity:
        """Return an index that finds only the wanted names, with the same row numbers as this index."""
        part = object.__new__(NameSimilarity)
        part._set(self._vocabulary, self._counts, is_wanted)
        part._whole = self._whole
        return part

    def top(self, queries: Sequence[str], count: int) -> list[Found]:
        """Return the rows and scores of the `count` best names for each query; ties are ordered by row."""
        if not queries:
            return []
        vectors = self._vocabulary.vectors(queries)
        if self._is_early(len(queries)):
            columns = self._some_columns(vectors)
            return self._search_few(vectors, columns, count) or self._search_all(vectors, columns, count)
        return self._search_all(vectors, self._columns, count)

    def _search_all(self, queries: Vectors, columns: Vectors, count: int) -> list[Found]:
        search = _search_many() or _search
        return [_in_order(rows, scores) for rows, scores in search(queries, columns, len(self._counts.offsets) - 1, count)]

    def _search_few(self, queries: Vectors, columns: Vectors, count: int) -> list[Found] | None:
        """Search without scipy; return None if scores tie at the cut-off, as `_search_all` could then return other names."""
        found = [_in_order(*each) for each in _search(queries, columns, len(self._counts.offsets) - 1, count + 1)]
        if any(len(scores) > count and scores[count - 1] == scores[count] for _, scores in found):
            return None
        return [(rows[:count], scores[:count]) for rows, scores in found]

    def _is_early(self, queries: int) -> bool:
        """Return True if the full weight matrix has not been built, and there are too few queries and calls to build it."""
        self._calls += 1
        return "_columns" not in self.__dict__ and queries <= _FEW_QUERIES and self._calls <= FEW_CALLS

    def _some_columns(self, queries: Vectors) -> Vectors:
        """Return the matrix columns of the 3-grams that occur in the queries. All other columns are empty."""
        is_used = np.zeros(len(self._vocabulary), dtype=bool)
        is_used[queries.columns] = True
        counts = self._counts
        at = np.flatnonzero(is_used[counts.grams])
        bounds = np.searchsorted(at, counts.offsets)
        rows = np.repeat(np.arange(len(bounds) - 1, dtype=np.int32), np.diff(bounds))
        if self._is_wanted is not None:
            is_kept = self._is_wanted[rows]
            at, rows = at[is_kept], rows[is_kept]
        columns = counts.grams[at]
        weights = self._vocabulary.some_weights(counts, self._norms, at, rows)
        order = np.argsort(columns, kind="stable")
        sizes = np.bincount(columns, minlength=len(self._vocabulary))
        return Vectors(np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), rows[order], weights[order])

    def between(
        self, queries: Sequence[str], query_rows: npt.NDArray[Any], name_rows: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return the similarity of each pair of query `query_rows[i]` and name `name_rows[i]`.

        >>> NameSimilarity(["heart attack", "fever"]).between(["fever"], np.array([0, 0]), np.array([0, 1])).tolist()
        [0.0, 1.0]
        """
        names, name_rows = (self._rows, name_rows) if "_rows" in self._whole.__dict__ else self._some_rows(name_rows)
        return _dots(self._vocabulary.vectors(queries), query_rows, names, name_rows, len(self._vocabulary))

    def _some_rows(self, name_rows: npt.NDArray[Any]) -> tuple[Vectors, npt.NDArray[Any]]:
        """Return the vectors of the distinct rows in `name_rows`, and for each of `name_rows` the index of its vector."""
        wanted, own = np.unique(name_rows, return_inverse=True)
        at, lengths = positions_of_rows(self._counts, wanted)
        weights = self._vocabulary.some_weights(self._counts, self._norms, at, np.repeat(wanted, lengths))
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        return Vectors(offsets, self._counts.grams[at], weights), own

    def pairwise(self, one: Sequence[str], other: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the similarity of `one[i]` and `other[i]`.

        >>> NameSimilarity(["heart attack", "fever"]).pairwise(["fever"], ["fever"]).tolist()
        [1.0]
        """
        both, rows = self._vocabulary, np.arange(len(one))
        return _dots(both.vectors(one), rows, both.vectors(other), rows, len(both))


def _search(queries: Vectors, columns: Vectors, names: int, count: int) -> list[tuple[Any, Any]]:
    """Return the rows and scores of the `count` best names of each query, unsorted; ties are resolved by row."""
    found = []
    for query in range(len(queries)):
        scores = np.zeros(names, dtype=np.float32)
        for at in range(int(queries.offsets[query]), int(queries.offsets[query + 1])):
            column = int(queries.columns[at])
            part = slice(int(columns.offsets[column]), int(columns.offsets[column + 1]))
            scores[columns.columns[part]] += queries.weights[at] * columns.weights[part]
        rows = np.flatnonzero(scores)
        if len(rows) > count:
            bound = np.partition(scores[rows], len(rows) - count)[len(rows) - count]
            above, equal = rows[scores[rows] > bound], rows[scores[rows] == bound]
            rows = np.concatenate((above, equal[: count - len(above)]))
        found.append((rows, scores[rows]))
    return found


def _search_many() -> Any:
    """Return a search function that uses sparse_dot_topn, or None if sparse_dot_topn is not installed."""
    try:
        from scipy.sparse import csr_matrix
        from sparse_dot_topn import sp_matmul_topn
    except ImportError:
        return None

    def search(queries: Vectors, columns: Vectors, names: int, count: int) -> list[tuple[Any, Any]]:
        queries, columns = _only_used(queries, columns)
        width = len(columns)
        left = csr_matrix((queries.weights, queries.columns.astype(np.int64), queries.offsets), (len(queries), width))
        right = csr_matrix((columns.weights, columns.columns, columns.offsets), (width, names))
        found = sp_matmul_topn(left, right, count, sort=True, n_threads=_THREADS)
        bounds = zip(found.indptr[:-1], found.indptr[1:], strict=True)
        return [(found.indices[start:end], found.data[start:end]) for start, end in bounds]

    return search


def _only_used(queries: Vectors, columns: Vectors) -> tuple[Vectors, Vectors]:
    """Return both without the columns that no query uses, if these are most entries: sparse_dot_topn copies all of them.

    >>> one = np.ones(3, dtype=np.float32)
    >>> queries = Vectors(np.array([0, 1]), np.array([2]), one[:1])
    >>> queries, columns = _only_used(queries, Vectors(np.array([0, 1, 2, 3]), np.array([7, 8, 9]), one))
    >>> queries.columns.tolist(), columns.columns.tolist()
    ([0], [9])
    """
    used, own = np.unique(queries.columns, return_inverse=True)
    sizes = np.diff(columns.offsets)[used]
    if 2 * int(sizes.sum()) > len(columns.columns):
        return queries, columns
    at, lengths = positions_of_rows(columns, used)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Vectors(queries.offsets, own, queries.weights), Vectors(offsets, columns.columns[at], columns.weights[at])


def _dots(
    queries: Vectors, query_rows: npt.NDArray[Any], names: Vectors, name_rows: npt.NDArray[Any], width: int
) -> npt.NDArray[np.float64]:
    """Return the dot product of each pair of rows. Queries are converted to dense vectors, in batches."""
    scores = np.zeros(len(query_rows))
    order = np.argsort(query_rows, kind="stable")
    queries_at_once = max(1, _DENSE // max(1, width))
    for start in range(0, len(order), _PAIRS):
        pairs = order[start : start + _PAIRS]
        wanted, own = np.unique(query_rows[pairs], return_inverse=True)
        for first in range(0, len(wanted), queries_at_once):
            block = wanted[first : first + queries_at_once]
            is_here = (own >= first) & (own < first + len(block))
            scores[pairs[is_here]] = _block((queries, block, own[is_here] - first), (names, name_rows[pairs[is_here]]), width)
    return _round_scores(scores)


def _block(
    left: tuple[Vectors, npt.NDArray[Any], npt.NDArray[Any]], right: tuple[Vectors, npt.NDArray[Any]], width: int
) -> npt.NDArray[np.float64]:
    """Return dot products of pairs. `left` is the queries, the query rows of this block, and each pair's index in the block."""
    (queries, block, own), (names, name_rows) = left, right
    at, lengths = positions_of_rows(queries, block)
    used = np.unique(queries.columns[at])
    number = np.zeros(width, dtype=np.int32)  # of each used column, from 1; the others share column 0, which stays empty
    number[used] = np.arange(1, len(used) + 1)
    spread = np.zeros((len(block), len(used) + 1), dtype=np.float32)  # small enough for the processor's cache
    spread[np.repeat(np.arange(len(block)), lengths), number[queries.columns[at]]] = queries.weights[at]
    at, lengths = positions_of_rows(names, name_rows)
    products = names.weights[at] * spread[np.repeat(own, lengths), number[names.columns[at]]]
    pairs = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(pairs, weights=products, minlength=len(lengths)).astype(np.float64)


def _in_order(rows: npt.NDArray[Any], scores: npt.NDArray[Any]) -> Found:
    scores = _round_scores(scores)
    order = np.lexsort((rows, -scores))
    return rows[order], scores[order]


def _round_scores(scores: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.asarray(np.round(scores.astype(np.float64), _DECIMALS), dtype=np.float64)
