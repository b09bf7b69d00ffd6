"""Batches of samples of like length: less is computed on padding. The order still follows from the index alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

from onym.train.samples.base import Pair, Sample, Samples
from onym.train.samples.order import Shuffled

T = TypeVar("T", bound=Sample | Pair)
_BATCHES = 16  # that are sorted together


class Bucketed(Generic[T]):
    """The same samples, block by block of 16 batches: in a block they are put in batches by length, the batches in any order.

    What is left at the end, less than a block, stays as it is.
    """

    def __init__(self, samples: Samples[T], batch: int, *, seed: int = 0) -> None:
        self._samples, self._batch = samples, batch
        self._block = batch * _BATCHES
        self._order = Shuffled(_BATCHES, seed)
        self._last: tuple[int, list[T]] = (-1, [])

    def __len__(self) -> int:
        return len(self._samples)

    def __getitems__(self, indices: Sequence[int]) -> list[T]:
        return [self._at(index) for index in indices]

    def _at(self, index: int) -> T:
        block, within = divmod(index, self._block)
        if (block + 1) * self._block > len(self._samples):
            return self._samples.__getitems__([index])[0]
        if self._last[0] != block:
            self._last = block, self._sorted(block)
        return self._last[1][within]

    def _sorted(self, block: int) -> list[T]:
        first = block * self._block
        found = sorted(self._samples.__getitems__(range(first, first + self._block)), key=_length)
        order = self._order.at(np.arange(block * _BATCHES, (block + 1) * _BATCHES))
        return [sample for number in order.tolist() for sample in found[number * self._batch : (number + 1) * self._batch]]


def _length(sample: Sample | Pair) -> tuple[int, int]:
    written = sample.name if isinstance(sample, Sample) else max(sample.preferred, sample.rejected, key=len)
    return len(sample.prompt) + len(written), len(sample.source)
