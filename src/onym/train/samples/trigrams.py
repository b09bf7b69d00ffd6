"""Which of a few names is most like another, by the character 3-grams that they share.

For the handful of names of one concept, a sample at a time. `text.similarity` weighs 3-grams by all names, and holds them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt


def most_like(name: str, others: Sequence[str]) -> int:
    """Return the place of the most similar of the others, by cosine of the sets of 3-grams; of equal ones the first.

    >>> most_like("heart attack", ["coronary attack", "heart attacks", "mi"])
    1
    """
    own = _grams(name)
    scores = [_cosine(own, _grams(other)) for other in others]
    return scores.index(max(scores))


def _grams(name: str) -> set[tuple[str, str, str]]:
    padded = f" {name} "
    return set(zip(padded, padded[1:], padded[2:], strict=False))


def _cosine(own: set[tuple[str, str, str]], other: set[tuple[str, str, str]]) -> float:
    """Return the cosine but for the size of `own`, which all comparisons share."""
    return len(own & other) / sqrt(max(1, len(other)))
