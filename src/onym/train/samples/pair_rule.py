"""ANGEL's rule (section 3.2): which right and wrong names a model that answered with a ranked list should tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Rule = Literal["violating", "all"]
"""Pairs that the model has in the wrong order, or every pair: ANGEL's Table 2."""


def preferences(is_right: Sequence[bool], *, rule: Rule = "violating") -> list[tuple[int, int]]:
    """Return pairs (right, wrong) of places in a ranked list.

    Every right name is paired with each wrong one above it. Where the best name is right, it is paired with the first wrong
    one besides, to keep it there. Without a right name there is no pair.

    >>> preferences([False, True, False])
    [(1, 0)]
    >>> preferences([True, False, True])
    [(0, 1), (2, 1)]
    >>> preferences([True, False, True], rule="all")
    [(0, 1), (2, 1)]
    """
    right = [place for place, flag in enumerate(is_right) if flag]
    wrong = [place for place, flag in enumerate(is_right) if not flag]
    if rule == "all":
        return [(good, bad) for good in right for bad in wrong]
    first = [(0, wrong[0])] if right and right[0] == 0 and wrong else []
    return first + [(good, bad) for good in right if good for bad in wrong if bad < good]
