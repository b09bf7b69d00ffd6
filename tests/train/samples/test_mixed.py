"""Two kinds of samples in one row: each is seen in its own order, and a place always gives the same sample."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from onym.train.samples.base import Sample
from onym.train.samples.mixed import Mixed


class Numbered:
    """Samples that say whose they are, and which."""

    def __init__(self, kind: int, count: int = 100) -> None:
        self.kind, self.count = kind, count

    def __len__(self) -> int:
        return self.count

    def __getitems__(self, places: Sequence[int]) -> list[Sample]:
        return [Sample([self.kind], [place], []) for place in places]


def seen(share: float, places: Sequence[int]) -> list[tuple[int, int]]:
    mixed = Mixed(Numbered(1), Numbered(2), share)
    return [(sample.source[0], sample.prompt[0]) for sample in mixed.__getitems__(places)]


@pytest.mark.parametrize("share", [0.01, 0.25, 0.4, 0.5, 0.9])
def test_both_are_seen_in_their_order_and_by_their_share(share: float) -> None:
    found = seen(share, range(1000))
    for kind, most in ((1, 1 - share), (2, share)):
        own = [number for of, number in found if of == kind]
        assert own == list(range(len(own)))
        assert abs(len(own) - 1000 * most) <= 1


def test_a_sample_does_not_depend_on_its_batch() -> None:
    places = [7, 3, 999, 4, 3]
    assert seen(0.4, places) == [seen(0.4, [place])[0] for place in places]
    assert seen(0.4, []) == []


def test_it_is_as_long_as_the_first() -> None:
    assert len(Mixed(Numbered(1, 30), Numbered(2, 5), 0.5)) == 30
