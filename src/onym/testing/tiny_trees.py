"""A reranker's trees, as small as they can be."""

from __future__ import annotations

import numpy as np

from onym.rerank.trees import Trees


def stump(feature: int = 0) -> Trees:
    """Return one tree of one split: -1 up to 0.5 of a feature, and 1 above.

    >>> stump().probabilities(np.array([[0.2], [0.9]])).round(2).tolist()
    [0.27, 0.73]
    """
    return Trees(
        roots=np.array([0]),
        feature=np.array([feature, 0, 0]),
        threshold=np.array([0.5, 0.0, 0.0]),
        left=np.array([1, 1, 2]),
        right=np.array([2, 1, 2]),
        is_left_missing=np.zeros(3),
        value=np.array([0.0, -1.0, 1.0]),
        baseline=np.zeros(1),
    )
