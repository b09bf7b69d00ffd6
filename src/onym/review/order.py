"""Expected errors: the probability that the answer of a cluster is wrong, learned while people decide.

A confidence says how often an answer is wrong, but a pipeline may be wrong about everything of one kind: a concept that it
always takes for another one, or a vocabulary that nobody wanted. So the probabilities of clusters that share a trait are
multiplied by the ratio of the errors that were seen to those that the confidences predicted.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

SECONDS_RIGHT, SECONDS_WRONG = 3.0, 9.0
"""Expected seconds to decide a link that is right, and one that is wrong."""
_PRIOR = 1.0  # errors, seen and predicted, that every trait starts with
_MAX_PROBABILITY = 0.99  # the highest probability
_Floats = npt.NDArray[np.float64]


def gain_per_second(wrong: _Floats, links: npt.NDArray[np.int64]) -> _Floats:
    """Return the expected number of errors that a decision removes per second, if it covers so many links.

    `wrong` is the probability that their common answer is wrong; a wrong answer takes longer to decide.

    >>> gain_per_second(np.array([0.1, 0.9, 0.9]), np.array([1, 1, 0])).round(3).tolist()
    [0.028, 0.107, 0.0]
    """
    return wrong * links / (SECONDS_RIGHT + (SECONDS_WRONG - SECONDS_RIGHT) * wrong)


class ExpectedErrors:
    """The probability that the answer of each cluster is wrong: its prior times the ratios of its traits.

    >>> errors = ExpectedErrors([0.2, 0.2, 0.2], [("mesh",), ("mesh",), ("mondo",)])
    >>> errors.observe(0, 1.0)
    >>> errors.probabilities().round(2).tolist()
    [0.33, 0.33, 0.2]
    """

    def __init__(self, priors: Sequence[float], traits: Sequence[tuple[Hashable, ...]]) -> None:
        """Take the prior and the traits of each cluster; all clusters have the same number of traits."""
        self._priors = np.array(priors, dtype=np.float64)
        numbers: dict[tuple[int, Hashable], int] = {}
        rows = [[numbers.setdefault((kind, trait), len(numbers)) for kind, trait in enumerate(each)] for each in traits]
        self._traits = np.array(rows, dtype=np.int64).reshape(len(rows), -1)
        self._seen, self._predicted = np.full(len(numbers), _PRIOR), np.full(len(numbers), _PRIOR)
        self._observed: dict[int, float] = {}
        self._probabilities: _Floats | None = None

    def observe(self, cluster: int, wrong: float | None) -> None:
        """Note the share of wrong links in a cluster that was decided, instead of an earlier note; None removes it."""
        own, before = self._traits[cluster], self._observed.pop(cluster, None)
        if before is not None:
            self._seen[own] -= before
            self._predicted[own] -= self._priors[cluster]
        if wrong is not None:
            self._observed[cluster] = wrong
            self._seen[own] += wrong
            self._predicted[own] += self._priors[cluster]
        self._probabilities = None

    def probabilities(self) -> _Floats:
        """Return the probability of each cluster."""
        if self._probabilities is None:
            ratios = self._seen / self._predicted
            self._probabilities = np.minimum(self._priors * ratios[self._traits].prod(axis=1), _MAX_PROBABILITY)
        return self._probabilities
