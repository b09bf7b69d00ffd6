"""The score of a candidate from 0 to 100, as OpenRefine shows it: the confidence in percent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from onym.types import Candidate


def shown_scores(candidates: Sequence[Candidate], confidence: float | None) -> list[float]:
    """Return a score for each candidate, best first.

    The first one has its confidence, and so have those that tie with it. The others share the rest by rank: the second has half
    of what is left of the probability, at most half of the first, the third half of that. Without a confidence, the scores are
    those of the linker, log-probabilities as probabilities.

    >>> fever, malaria = Candidate("hp:0001945", "fever", 0.9), Candidate("mondo:0005136", "ague", 0.3)
    >>> shown_scores([fever, malaria], 0.96)
    [96.0, 2.0]
    >>> shown_scores([fever, malaria], None)
    [90.0, 30.0]
    """
    if confidence is None:
        values = [_share(each.score) for each in candidates]
    else:
        rest = min(confidence, 1 - confidence)
        values = [confidence if each.score == candidates[0].score else rest / 2**rank for rank, each in enumerate(candidates)]
    return [_percent(min(values[: rank + 1])) for rank in range(len(candidates))]


def _percent(share: float) -> float:
    """Return a share in percent, rounded down, so that a score is never higher than the confidence is."""
    return math.floor(round(share * 10_000, 6)) / 100


def _share(score: float) -> float:
    if math.isnan(score):
        return 0.0
    return min(1.0, score if score >= 0 else math.exp(score))
