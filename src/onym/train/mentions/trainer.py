"""Fitting the regression with scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onym.detect.classifier import SIZE, Floats
from onym.errors import InputError, missing_extra
from onym.train.mentions.collate import Occurrences
from onym.train.mentions.config import RegressionConfig


def fit_weights(parts: Sequence[Occurrences], config: RegressionConfig) -> Floats:
    """Learn the weight of each feature."""
    try:
        from scipy.sparse import csr_matrix
        from sklearn.linear_model import LogisticRegression
    except ImportError as e:
        raise missing_extra("training a classifier", "lexical") from e
    rows = [row for part in parts for row in part.rows]
    is_mention = np.concatenate([part.is_mention for part in parts])
    if not is_mention.any() or is_mention.all():
        fix = "name the knowledge base that the datasets are annotated with"
        raise InputError("training-empty", "no name in the documents is a mention, or all are", fix=fix)
    columns = np.array([column for row in rows for column in row], dtype=np.int32)
    starts = np.cumsum([0, *map(len, rows)])
    matrix = csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(rows), SIZE))
    model = LogisticRegression(C=config.strength, max_iter=config.iterations, fit_intercept=False).fit(matrix, is_mention)
    return np.asarray(model.coef_[0], dtype=np.float32)
