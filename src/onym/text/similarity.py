"""The one TF-IDF: names as bags of the character 3-grams inside their words, compared by cosine.

scikit-learn makes the vectors; sparse_dot_topn multiplies them and keeps the best of each row. Both come with `onym[lexical]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import missing_extra
from onym.store.artefact.arrays import Strings

_DECIMALS = 6  # of a score: names with the same 3-grams in another order are alike, whatever the order of summation
_THREADS = 2
_PAIRS = 100_000  # compared at once


class NameSimilarity:
    """Names that can be searched by similarity: the same 3-grams give 1, none in common 0.

    >>> similarity = NameSimilarity(["heart attack", "heart failure", "fever"])
    >>> rows, scores = similarity.top(["heart atack"], 2)[0]
    >>> rows.tolist()
    [0, 1]
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._vectorizer = _vectorizer()
        self._rows = self._vectorizer.fit_transform(names)  # (names, 3-grams)
        self._columns = self._rows.T.tocsr()

    @classmethod
    def of(cls, names: Strings) -> NameSimilarity:
        """Take a column of names, as a knowledge base has them."""
        return cls(names.to_arrow().to_pylist())

    def within(self, is_wanted: npt.NDArray[np.bool_]) -> NameSimilarity:
        """Return the same similarity over the wanted names alone; the others keep their rows and are never found."""
        part = object.__new__(NameSimilarity)
        part._vectorizer = self._vectorizer
        part._rows = self._rows.multiply(is_wanted[:, None].astype(np.float32)).tocsr()
        part._rows.eliminate_zeros()
        part._columns = part._rows.T.tocsr()
        return part

    def top(self, queries: Sequence[str], count: int) -> list[tuple[npt.NDArray[Any], npt.NDArray[np.float64]]]:
        """Return for each query the rows of its `count` best names and their scores; of equal ones the first come first."""
        from sparse_dot_topn import sp_matmul_topn

        if not queries:
            return []
        found = sp_matmul_topn(self._vectorizer.transform(queries), self._columns, count, sort=True, n_threads=_THREADS)
        bounds = zip(found.indptr[:-1], found.indptr[1:], strict=True)
        return [_in_order(found.indices[start:end], found.data[start:end]) for start, end in bounds]

    def between(
        self, queries: Sequence[str], query_rows: npt.NDArray[Any], name_rows: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return the similarity of pairs: of the query in a row of `queries` and the name in a row of the names.

        >>> NameSimilarity(["heart attack", "fever"]).between(["fever"], np.array([0, 0]), np.array([0, 1])).tolist()
        [0.0, 1.0]
        """
        if not len(query_rows):
            return np.zeros(0)
        vectors, found = self._vectorizer.transform(queries), []
        for start in range(0, len(query_rows), _PAIRS):
            part = slice(start, start + _PAIRS)
            product = vectors[query_rows[part]].multiply(self._rows[name_rows[part]])
            found.append(np.asarray(product.sum(axis=1)).ravel())
        return _rounded(np.concatenate(found))

    def pairwise(self, one: Sequence[str], other: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the similarity of each pair.

        >>> NameSimilarity(["heart attack", "fever"]).pairwise(["fever"], ["fever"]).tolist()
        [1.0]
        """
        if not one:
            return np.zeros(0)
        product = self._vectorizer.transform(one).multiply(self._vectorizer.transform(other))
        return _rounded(np.asarray(product.sum(axis=1)).ravel())


def _in_order(rows: npt.NDArray[Any], scores: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    scores = _rounded(scores)
    order = np.lexsort((rows, -scores))
    return rows[order], scores[order]


def _rounded(scores: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.asarray(np.round(scores.astype(np.float64), _DECIMALS), dtype=np.float64)


def _vectorizer() -> Any:
    try:
        import sparse_dot_topn  # noqa: F401 - needed as soon as there is something to compare
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as e:
        raise missing_extra("TF-IDF similarity", "lexical") from e
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), dtype=np.float32)
