"""How well the names of a concept cluster, and the points of a picture.

Vectors are compared by cosine similarity, whatever their model uses, so that two pictures can be compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import missing_extra

Vectors = npt.NDArray[np.float32]
Points = npt.NDArray[np.float64]

_PERPLEXITY = 30.0


def share_together(vectors: Vectors, owners: npt.NDArray[np.int64]) -> float:
    """Return the share of names whose nearest other name is of the same concept; a tie with another concept is none.

    Names that are the only one of their concept do not count.

    >>> vectors = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.8, 0.2]], dtype=np.float32)
    >>> share_together(vectors, np.array([0, 0, 1, 1]))
    0.75
    """
    unit = unit_vectors(vectors)
    similarity = np.round(unit @ unit.T, 6)  # the same text twice is equally far from a third
    np.fill_diagonal(similarity, -np.inf)
    is_same = owners[:, None] == owners[None, :]
    best_same = np.where(is_same, similarity, -np.inf).max(1)
    best_other = np.where(is_same, -np.inf, similarity).max(1)
    counts = np.isfinite(best_same)
    return float((best_same > best_other)[counts].mean()) if counts.any() else 0.0


def points_of(vectors: Vectors, seed: int = 0) -> Points:
    """Return a point in the plane for each vector, by t-SNE; *shape:* (names, width) -> (names, 2).

    The same vectors and seed give the same points: t-SNE runs in one thread, since it amplifies rounding
    differences of sums in another order.
    """
    try:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    except ImportError as e:
        raise missing_extra("a picture of names", "lexical") from e
    unit = unit_vectors(vectors)
    if np.allclose(unit, unit[0]):
        return np.zeros((len(unit), 2))  # all vectors are equal, and t-SNE cannot start
    tsne: Any = TSNE(perplexity=perplexity(len(unit)), init="pca", random_state=seed, n_jobs=1)
    with threadpool_limits(limits=1):
        return np.asarray(tsne.fit_transform(unit), dtype=np.float64)


def perplexity(names: int) -> float:
    """Return how many neighbours t-SNE considers: 30 as usual, fewer where there are few names.

    >>> perplexity(200), perplexity(10)
    (30.0, 3.0)
    """
    return min(_PERPLEXITY, (names - 1) / 3)


def unit_vectors(vectors: Vectors) -> Vectors:
    """Return vectors of the length 1; one of the length 0 stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
