"""Two kinds of samples in one row: a share of the second between those of the first, evenly."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from onym.train.samples.base import Sample, Samples


class Mixed:
    """Samples of `first`, and a share of them from `second` instead; which are which follows from their places alone.

    >>> class Letters:
    ...     def __init__(self, letter): self.letter = letter
    ...     def __len__(self): return 8
    ...     def __getitems__(self, places): return [f"{self.letter}{place}" for place in places]
    >>> Mixed(Letters("a"), Letters("b"), share=0.25).__getitems__(range(6))
    ['a0', 'a1', 'a2', 'b0', 'a3', 'a4']
    """

    def __init__(self, first: Samples[Sample], second: Samples[Sample], share: float) -> None:
        self._first, self._second, self._share = first, second, share

    def __len__(self) -> int:
        return len(self._first)

    def __getitems__(self, places: Sequence[int]) -> list[Sample]:
        found: dict[int, Sample] = {}
        for samples, is_second in ((self._first, False), (self._second, True)):
            own = [place for place in places if self._is_second(place) == is_second]
            numbers = [self._before(place) if is_second else place - self._before(place) for place in own]
            found.update(zip(own, samples.__getitems__(numbers), strict=True))
        return [found[place] for place in places]

    def _before(self, place: int) -> int:
        """Return how many of the second kind come before a place."""
        return floor(place * self._share)

    def _is_second(self, place: int) -> bool:
        return self._before(place + 1) > self._before(place)
