"""Agreement of reviewers: Cohen's kappa of two, Krippendorff's alpha of any number, exact or by distance.

A label is what a reviewer said of a unit, such as a concept id; None means that the reviewer said nothing, and is left out. A
distance says how far two labels are apart: 0 if they are equal, 1 if they have nothing in common. Both coefficients are 1 minus
the ratio of the observed to the expected distance: 1 is perfect agreement, 0 is what chance would give. `HierarchyDistance`
makes near misses count less than answers that have nothing in common.

J. Cohen, Psychological Bulletin 70 (1968) 213-220; K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from onym.evaluate.near_misses import CHILD, MAPPED, PARENT, PARTLY_RIGHT, SIBLING, Neighbourhood
from onym.kb import KnowledgeBase

Label = Hashable | None
Distance = Callable[[Hashable, Hashable], float]
"""Distance of two different labels, symmetric and not negative."""
_Floats = npt.NDArray[np.float64]


def exact_distance(_one: Hashable, _other: Hashable) -> float:
    """Return 1: labels that differ have nothing in common."""
    return 1.0


def cohen_kappa(first: Sequence[Label], second: Sequence[Label], distance: Distance = exact_distance) -> float | None:
    """Return Cohen's kappa of two reviewers, weighted by a distance; None if chance cannot disagree, so it is undefined.

    Units that one of them left out do not count.

    >>> round(cohen_kappa(["a"] * 25 + ["b"] * 25, ["a"] * 20 + ["b"] * 5 + ["a"] * 10 + ["b"] * 15), 3)
    0.4
    """
    pairs = [(one, other) for one, other in zip(first, second, strict=True) if one is not None and other is not None]
    labels, rows = _number(label for pair in pairs for label in pair)
    if not pairs:
        return None
    table = np.zeros((len(labels), len(labels)))
    np.add.at(table, (rows[0::2], rows[1::2]), 1.0)
    by_chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(pairs)
    return _coefficient(table, by_chance, labels, distance)


def krippendorff_alpha(units: Iterable[Sequence[Label]], distance: Distance = exact_distance) -> float | None:
    """Return Krippendorff's alpha; None if all labels are equal, so that it is undefined.

    A unit holds the labels that it got, in any order. Units with fewer than two labels do not count.

    >>> round(krippendorff_alpha([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b", "b"), ("a", None)]), 3)
    0.556
    """
    said = [[label for label in unit if label is not None] for unit in units]
    said = [unit for unit in said if len(unit) > 1]
    labels, rows = _number(label for unit in said for label in unit)
    if not said:
        return None
    together, start = np.zeros((len(labels), len(labels))), 0
    for unit in said:
        own, counts = np.unique(rows[start : start + len(unit)], return_counts=True)
        together[np.ix_(own, own)] += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
        start += len(unit)
    totals = together.sum(axis=1)
    by_chance = (np.outer(totals, totals) - np.diag(totals)) / (totals.sum() - 1)
    return _coefficient(together, by_chance, labels, distance)


def _coefficient(observed: _Floats, expected: _Floats, labels: Sequence[Hashable], distance: Distance) -> float | None:
    """Return 1 minus the ratio of the summed distances; None if the expected distance is 0."""
    apart = 1 - np.eye(len(labels))
    if distance is not exact_distance:
        for one, other in combinations(range(len(labels)), 2):
            apart[one, other] = apart[other, one] = distance(labels[one], labels[other])
    by_chance = float((expected * apart).sum())
    return 1 - float((observed * apart).sum()) / by_chance if by_chance else None


def _number(labels: Iterable[Hashable]) -> tuple[list[Hashable], npt.NDArray[np.int64]]:
    """Return the different labels, and the row of each label among them."""
    numbers: dict[Hashable, int] = {}
    rows = [numbers.setdefault(label, len(numbers)) for label in labels]
    return list(numbers), np.array(rows, dtype=np.int64)


_STEPS = {PARTLY_RIGHT: 0, PARENT: 1, CHILD: 1, MAPPED: 1, SIBLING: 2}
_FAR = 4  # steps from which two concepts have nothing in common


@dataclass(frozen=True)
class HierarchyDistance:
    """Distance of two concept ids by the steps between them in a hierarchy, through their nearest common ancestor.

    A parent or child has distance 0.25, a sibling 0.5, a concept three steps away 0.75, and any other 1. So has every label
    that is not a concept of the knowledge base.

    >>> from onym.kb import KnowledgeBase
    >>> HierarchyDistance.open(KnowledgeBase.open(getfixture("tiny_kb")))("mesh:D005334", "mesh:D006973")
    1.0
    """

    neighbourhood: Neighbourhood

    @classmethod
    def open(cls, kb: KnowledgeBase) -> HierarchyDistance:
        """Return the distance in the hierarchy of a knowledge base; without hierarchy only equal concepts are near."""
        return cls(Neighbourhood(kb))

    def __call__(self, one: Hashable, other: Hashable) -> float:
        """Return the distance of two labels."""
        near = self.neighbourhood.relate([str(one)], [str(other)])
        steps = near.steps if near.steps is not None else _STEPS.get(near.relation, _FAR)
        return min(steps, _FAR) / _FAR
