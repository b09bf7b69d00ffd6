"""Samples of which any number may be asked for."""

from __future__ import annotations

from onym.train.samples.ordered import Ordered


def test_the_same_samples_but_so_many() -> None:
    samples = Ordered(5, count=0, seed=3)
    more = samples.counted(99)
    assert (samples.epoch, len(samples)) == (5, 0)
    assert (more.epoch, len(more)) == (5, 99)
    assert type(more) is Ordered
