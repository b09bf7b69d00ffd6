"""Two kinds of pairs in one training: a share of the one, spread evenly among the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from onym.errors import ConfigError
from onym.train.samples.base import Positive, RepeatedSamples

_FINEST = 1000


@dataclass(frozen=True)
class Mixed:
    """`count` pairs: a `share` of them from `others`, the rest from `own`, each in its own order.

    >>> from onym.kb import KnowledgeBase
    >>> from onym.train.samples.positives import PositivePairs
    >>> names = PositivePairs(KnowledgeBase.open(getfixture("tiny_kb")), count=9)
    >>> Mixed(names, names, share=0.25).epoch
    16
    """

    own: RepeatedSamples[Positive]
    others: RepeatedSamples[Positive]
    share: float
    count: int = 0

    def __post_init__(self) -> None:
        """Refuse what would leave nothing of `own`."""
        if not 0 <= self.share < 1:
            raise ConfigError("config-invalid", f"a share of {self.share}", fix="give a number from 0 to less than 1")

    @property
    def epoch(self) -> int:
        """How many pairs there are before the first of `own` comes again."""
        return ceil(self.own.epoch / (1 - self._fraction))

    def __len__(self) -> int:
        return self.count

    def with_count(self, count: int) -> Mixed:
        """Return the same pairs, but so many."""
        return replace(self, count=count)

    def __getitems__(self, indices: Sequence[int]) -> list[Positive]:
        starts = [self._others_before(index) for index in indices]
        is_other = [self._others_before(index + 1) > start for index, start in zip(indices, starts, strict=True)]
        rows = list(zip(indices, starts, is_other, strict=True))
        own = iter(self.own.__getitems__([index - start for index, start, other in rows if not other]))
        more = iter(self.others.__getitems__([start for _, start, other in rows if other]))
        return [next(more if other else own) for other in is_other]

    def _others_before(self, index: int) -> int:
        return index * self._fraction.numerator // self._fraction.denominator

    @property
    def _fraction(self) -> Fraction:
        return min(Fraction(self.share).limit_denominator(_FINEST), Fraction(_FINEST - 1, _FINEST))
