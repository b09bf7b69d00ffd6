"""Batches of like length: each sample still comes once, at a place that follows from its number alone."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.train.samples.base import Sample
from onym.train.samples.buckets import Bucketed
from tests.train.tiny import RecordingSamples, pairs, samples


def length(sample: Sample) -> int:
    return len(sample.prompt) + len(sample.name)


@given(st.integers(1, 5), st.integers(0, 200), st.integers(0, 3))
def test_each_sample_comes_once_and_in_its_own_block(batch: int, count: int, seed: int) -> None:
    dataset = RecordingSamples([Sample([number], [], [0] * (number * 7 % 11)) for number in range(count)])
    found = [sample.source[0] for sample in Bucketed(dataset, batch, seed=seed).__getitems__(range(count))]
    block = batch * 16
    for first in range(0, count, block):
        assert sorted(found[first : first + block]) == list(range(first, min(first + block, count)))


def test_what_is_less_than_a_block_stays_as_it_is() -> None:
    few = samples(31)
    assert Bucketed(few, 2).__getitems__(range(31)) == few.samples
    many = samples(64 + 7)
    bucketed = Bucketed(many, 4)
    assert len(bucketed) == 71
    assert bucketed.__getitems__(range(64, 71)) == many.samples[64:]
    assert bucketed.__getitems__(range(64)) != many.samples[:64]


def test_batches_hold_like_lengths() -> None:
    many = samples(160)
    bucketed = Bucketed(many, 10).__getitems__(range(160))

    def padding(each: list[Sample]) -> int:
        batches = [each[first : first + 10] for first in range(0, 160, 10)]
        return sum(max(map(length, batch)) * 10 - sum(map(length, batch)) for batch in batches)

    assert padding(bucketed) < padding(many.samples) / 3


def test_long_and_short_batches_are_mixed() -> None:
    bucketed = Bucketed(samples(160), 10, seed=1).__getitems__(range(160))
    means = [sum(map(length, bucketed[first : first + 10])) for first in range(0, 160, 10)]
    assert means not in (sorted(means), sorted(means, reverse=True))


@pytest.mark.parametrize("order", [range(96), range(95, -1, -1), [*range(50, 96), *range(50)]])
def test_a_position_holds_the_same_sample_whenever_it_is_requested(order: range | list[int]) -> None:
    indices = list(order)
    whole = Bucketed(samples(96), 3, seed=5).__getitems__(range(96))
    bucketed = Bucketed(samples(96), 3, seed=5)
    assert [bucketed.__getitems__([index])[0] for index in indices] == [whole[index] for index in indices]


def test_seeds_differ_and_blocks_have_orders_of_their_own() -> None:
    one, other = (Bucketed(samples(64), 4, seed=seed).__getitems__(range(64)) for seed in (0, 1))
    assert one != other
    assert Counter(map(length, one)) == Counter(map(length, other))


def test_a_block_is_read_once() -> None:
    many = samples(64)
    bucketed = Bucketed(many, 4)
    for index in range(64):
        bucketed.__getitems__([index])
    assert sorted(many.indices) == list(range(64))


def test_pairs_too() -> None:
    many = pairs(48)
    found = Bucketed(many, 3).__getitems__(range(48))
    assert sorted(map(repr, found)) == sorted(map(repr, many.samples))
    widths = [max(len(pair.preferred), len(pair.rejected)) + len(pair.prompt) for pair in found]
    assert all(max(widths[first : first + 3]) - min(widths[first : first + 3]) <= 2 for first in range(0, 48, 3))
