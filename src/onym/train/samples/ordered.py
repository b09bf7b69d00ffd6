"""What samples of a fixed number share: each is seen once in an epoch, in an order by a seed."""

from __future__ import annotations

from copy import copy
from typing import Self

from onym.train.samples.order import Shuffled


class Ordered:
    """`count` samples of `epoch` different ones.

    >>> samples = Ordered(5, count=12, seed=3)
    >>> samples.epoch, len(samples), len(samples.counted(7))
    (5, 12, 7)
    """

    def __init__(self, epoch: int, count: int, seed: int) -> None:
        self._order, self._count = Shuffled(epoch, seed), count

    @property
    def epoch(self) -> int:
        """How many samples there are before the first comes again."""
        return len(self._order)

    def __len__(self) -> int:
        return self._count

    def counted(self, count: int) -> Self:
        """Return the same samples, but so many: how many an epoch has is known only once they are there."""
        other = copy(self)
        other._count = count  # noqa: SLF001 - its own
        return other
