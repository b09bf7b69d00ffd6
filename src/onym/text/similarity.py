"""The one TF-IDF: names as bags of the character 3-grams inside their words, compared by cosine.

NumPy alone does it. Where sparse_dot_topn is installed (`onym[lexical]`), it searches many queries several times as fast, with
the same sums in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.store.artefact.arrays import Strings
from onym.text.trigrams import Counts, Vectors, Vocabulary, ragged_positions

Found = tuple[npt.NDArray[Any], npt.NDArray[np.float64]]
_DECIMALS = 6  # of a score: names with the same 3-grams in another order are alike, whatever the order of summation
_THREADS = 2
_PAIRS = 20_000  # compared at once
_DENSE = 4_000_000  # weights of queries that are spread out at once
_FEW_QUERIES = 200
FEW_CALLS = 3
"""For so many calls with few queries, the weights that they need are made alone; then all of them are made."""


class NameSimilarity:
    """Names that can be searched by similarity: the same 3-grams give 1, none in common 0.

    >>> similarity = NameSimilarity(["heart attack", "heart failure", "fever"])
    >>> rows, scores = similarity.top(["heart atack"], 2)[0]
    >>> rows.tolist()
    [0, 1]
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._set(*Vocabulary.of(names))

    @classmethod
    def of(cls, names: Strings) -> NameSimilarity:
        """Take a column of names, as a knowledge base has them."""
        return cls(names.to_arrow().to_pylist())

    @classmethod
    def of_counts(cls, vocabulary: Vocabulary, counts: Counts) -> NameSimilarity:
        """Take names whose 3-grams were counted before."""
        made = object.__new__(cls)
        made._set(vocabulary, counts)
        return made

    def _set(self, vocabulary: Vocabulary, counts: Counts, is_wanted: npt.NDArray[np.bool_] | None = None) -> None:
        self._vocabulary, self._counts, self._is_wanted = vocabulary, counts, is_wanted
        self._calls = 0
        self._whole: NameSimilarity = self

    @cached_property
    def _norms(self) -> npt.NDArray[np.float64]:
        return self._vocabulary.norms(self._counts) if self._whole is self else self._whole._norms  # noqa: SLF001 - its own kind

    @cached_property
    def _rows(self) -> Vectors:
        return self._vocabulary.weighted(self._counts) if self._whole is self else self._whole._rows  # noqa: SLF001 - its own kind

    @cached_property
    def _columns(self) -> Vectors:
        rows = self._rows
        if self._is_wanted is not None:
            is_kept = np.repeat(self._is_wanted, np.diff(rows.offsets))
            offsets = np.concatenate(([0], np.cumsum(is_kept)))[rows.offsets]
            rows = Vectors(offsets, rows.columns[is_kept], rows.weights[is_kept])
        return rows.transposed(len(self._vocabulary))

    def within(self, is_wanted: npt.NDArray[np.bool_]) -> NameSimilarity:
        """Return the same similarity over the wanted names alone; the others keep their rows and are never found."""
        part = object.__new__(NameSimilarity)
        part._set(self._vocabulary, self._counts, is_wanted)
        part._whole = self._whole
        return part

    def top(self, queries: Sequence[str], count: int) -> list[Found]:
        """Return for each query the rows of its `count` best names and their scores; of equal ones the first come first."""
        if not queries:
            return []
        vectors = self._vocabulary.vectors(queries)
        search, names = _search_many() or _search, len(self._counts.offsets) - 1
        columns = self._some_columns(vectors) if self._is_early(len(queries)) else self._columns
        return [_in_order(rows, scores) for rows, scores in search(vectors, columns, names, count)]

    def _is_early(self, queries: int) -> bool:
        """Tell whether all weights are not there yet, and too few are needed for them to be made."""
        self._calls += 1
        return "_columns" not in self.__dict__ and queries <= _FEW_QUERIES and self._calls <= FEW_CALLS

    def _some_columns(self, queries: Vectors) -> Vectors:
        """Return the columns of the 3-grams that queries have; the others are empty."""
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
        """Return the similarity of pairs: of the query in a row of `queries` and the name in a row of the names.

        >>> NameSimilarity(["heart attack", "fever"]).between(["fever"], np.array([0, 0]), np.array([0, 1])).tolist()
        [0.0, 1.0]
        """
        names, name_rows = (self._rows, name_rows) if "_rows" in self._whole.__dict__ else self._some_rows(name_rows)
        return _dots(self._vocabulary.vectors(queries), query_rows, names, name_rows, len(self._vocabulary))

    def _some_rows(self, name_rows: npt.NDArray[Any]) -> tuple[Vectors, npt.NDArray[Any]]:
        """Return the weights of some names, and the row of each of them there."""
        wanted, own = np.unique(name_rows, return_inverse=True)
        at, lengths = ragged_positions(self._counts, wanted)
        weights = self._vocabulary.some_weights(self._counts, self._norms, at, np.repeat(wanted, lengths))
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        return Vectors(offsets, self._counts.grams[at], weights), own

    def pairwise(self, one: Sequence[str], other: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the similarity of each pair.

        >>> NameSimilarity(["heart attack", "fever"]).pairwise(["fever"], ["fever"]).tolist()
        [1.0]
        """
        both, rows = self._vocabulary, np.arange(len(one))
        return _dots(both.vectors(one), rows, both.vectors(other), rows, len(both))


def _search(queries: Vectors, columns: Vectors, names: int, count: int) -> list[tuple[Any, Any]]:
    """Return the rows and scores of the best names of each query, in no order; of equal ones the first."""
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
    """Return the search by sparse_dot_topn, if that is installed."""
    try:
        from scipy.sparse import csr_matrix
        from sparse_dot_topn import sp_matmul_topn
    except ImportError:
        return None

    def search(queries: Vectors, columns: Vectors, names: int, count: int) -> list[tuple[Any, Any]]:
        width = len(columns)
        left = csr_matrix((queries.weights, queries.columns.astype(np.int64), queries.offsets), (len(queries), width))
        right = csr_matrix((columns.weights, columns.columns, columns.offsets), (width, names))
        found = sp_matmul_topn(left, right, count, sort=True, n_threads=_THREADS)
        bounds = zip(found.indptr[:-1], found.indptr[1:], strict=True)
        return [(found.indices[start:end], found.data[start:end]) for start, end in bounds]

    return search


def _dots(
    queries: Vectors, query_rows: npt.NDArray[Any], names: Vectors, name_rows: npt.NDArray[Any], width: int
) -> npt.NDArray[np.float64]:
    """Return the products of pairs of rows: the queries are spread out, some at a time, and looked into."""
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
    return _rounded(scores)


def _block(
    left: tuple[Vectors, npt.NDArray[Any], npt.NDArray[Any]], right: tuple[Vectors, npt.NDArray[Any]], width: int
) -> npt.NDArray[np.float64]:
    """Return the products of queries and names: `left` has the queries, the rows of some, and which of these each pair has."""
    (queries, block, own), (names, name_rows) = left, right
    spread = np.zeros((len(block), width), dtype=np.float32)
    at, lengths = ragged_positions(queries, block)
    spread[np.repeat(np.arange(len(block)), lengths), queries.columns[at]] = queries.weights[at]
    at, lengths = ragged_positions(names, name_rows)
    products = names.weights[at] * spread[np.repeat(own, lengths), names.columns[at]]
    pairs = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(pairs, weights=products, minlength=len(lengths)).astype(np.float64)


def _in_order(rows: npt.NDArray[Any], scores: npt.NDArray[Any]) -> Found:
    scores = _rounded(scores)
    order = np.lexsort((rows, -scores))
    return rows[order], scores[order]


def _rounded(scores: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.asarray(np.round(scores.astype(np.float64), _DECIMALS), dtype=np.float64)
