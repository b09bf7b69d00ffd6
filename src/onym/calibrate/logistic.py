"""Logistic regression: the log-odds of being right as a sum over a few columns, fitted by Newton's method."""

from __future__ import annotations

import numpy as np
from pydantic.dataclasses import dataclass

from onym.calibrate.values import CHECKED, Floats, require

_RIDGE = 1.0  # keeps weights finite where a column tells right from wrong without exception
_STEPS = 25
_MAX_LOG_ODDS = 30.0


@dataclass(frozen=True, config=CHECKED)
class Logistic:
    """A weight for each column, after its mean is taken off and it is divided by its spread.

    >>> columns = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fitted = Logistic.fit(columns, np.array([0.0, 0.0, 1.0, 1.0]))
    >>> (fitted.log_odds(columns) > 0).tolist()
    [False, False, True, True]
    """

    weights: tuple[float, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    bias: float

    def __post_init__(self) -> None:
        is_sound = len(self.weights) == len(self.means) == len(self.spreads) and all(spread > 0 for spread in self.spreads)
        require(is_sound, "the columns of a logistic regression do not match")

    @classmethod
    def fit(cls, columns: Floats, right: Floats) -> Logistic:
        """Fit columns of answers to whether they were right."""
        means, spreads = columns.mean(axis=0), columns.std(axis=0)
        spreads = np.where(spreads > 1e-9, spreads, 1.0)
        scaled = np.concatenate([(columns - means) / spreads, np.ones((len(columns), 1))], axis=1)
        ridge = np.diag([_RIDGE] * columns.shape[1] + [1e-6])
        found = np.zeros(scaled.shape[1])
        for _ in range(_STEPS):
            probability = 1 / (1 + np.exp(-np.clip(scaled @ found, -_MAX_LOG_ODDS, _MAX_LOG_ODDS)))
            gradient = scaled.T @ (probability - right) + ridge @ found
            curvature = (scaled * (probability * (1 - probability))[:, None]).T @ scaled + ridge
            step = np.linalg.solve(curvature, gradient)
            found -= step
            if np.abs(step).max() < 1e-9:
                break
        return cls(tuple(found[:-1].tolist()), tuple(means.tolist()), tuple(spreads.tolist()), float(found[-1]))

    def log_odds(self, columns: Floats) -> Floats:
        """Return the log-odds of each row."""
        scaled: Floats = (columns - np.array(self.means)) / np.array(self.spreads)
        return np.asarray(scaled @ np.array(self.weights) + self.bias, dtype=np.float64)
