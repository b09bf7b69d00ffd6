"""Tests of index-based sampling: shuffled orders, random draws, and batches of samples of similar length."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.train.samples.base import Bucketed, OrderedSamples, Pair, Positive, Sample, Shuffled, draw, draw_rows, permute, pick
from tests.train.tiny import RecordingSamples, pairs, samples


def test_samples_are_frozen_and_compare_by_value() -> None:
    assert Sample([1], [2], [3]) == Sample([1], [2], [3]) != Sample([1], [2], [4])
    pair = Pair([1], [2], [3], [4])
    assert pair.reference == (0.0, 0.0)
    assert pair != dataclasses.replace(pair, reference=(-1.0, 0.0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        pair.preferred = [5]  # type: ignore[misc]
    positive = Positive("fever", "pyrexia", 7, (0, 1))
    assert positive.also == ()
    assert positive == Positive("fever", "pyrexia", 7, (0, 1)) != Positive("fever", "pyrexia", 8, (0, 1))


@given(st.integers(1, 3000), st.integers(-(2**70), 2**70), st.integers(0, 10**12))
def test_epoch_is_a_permutation(length: int, seed: int, epoch: int) -> None:
    order = Shuffled(length, seed)
    assert sorted(order.at(np.arange(length) + epoch * length).tolist()) == list(range(length))


@pytest.mark.parametrize("length", [*range(1, 70), 10_007, 2**14, 2**14 + 1])
def test_permutes_every_length(length: int) -> None:
    assert sorted(Shuffled(length, 13).at(np.arange(length)).tolist()) == list(range(length))


def test_order_is_determined_by_seed() -> None:
    indices = np.arange(3000)
    first = Shuffled(1000, 13).at(indices)
    assert first.tolist() == Shuffled(1000, 13).at(indices).tolist()
    assert first[:1000].tolist() != first[1000:2000].tolist() != first[2000:].tolist()
    assert first.tolist() != Shuffled(1000, 14).at(indices).tolist()


def test_index_does_not_depend_on_other_indices() -> None:
    order = Shuffled(977, 5)
    indices = np.random.default_rng(0).integers(0, 5000, 300)
    together = order.at(indices).tolist()
    assert together == [int(order.at(np.array([index]))[0]) for index in indices]


def test_order_looks_random() -> None:
    length = 100_000
    found = Shuffled(length, 2).at(np.arange(length))
    near = np.arange(length)
    assert abs(np.corrcoef(near, found)[0, 1]) < 0.02
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.02
    assert 0.3 < np.mean(found[1:] > found[:-1]) < 0.7
    assert (found == near).sum() < 12  # a random order has one element in its original position on average
    tenths = np.bincount(found[: length // 10] * 10 // length, minlength=10)
    assert tenths.min() > 850


def test_small_orders_reach_every_permutation() -> None:
    found = {tuple(Shuffled(4, seed).at(np.arange(4)).tolist()) for seed in range(1000)}
    assert len(found) == 24


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 10**9)), min_size=1, max_size=9, unique_by=lambda each: each[1]))
def test_permutes_several_lengths_at_once(orders: list[tuple[int, int]]) -> None:
    numbers = np.array([number for length, _ in orders for number in range(length)])
    lengths, which = (np.array([each[part] for each in orders for _ in range(each[0])]) for part in (0, 1))
    found = permute(numbers, lengths, 3, which, stream=9)
    for length, order in orders:
        assert sorted(found[which == order].tolist()) == list(range(length))
    one = np.array([len(numbers) // 2])
    assert permute(numbers[one], lengths[one], 3, which[one], stream=9) == found[one]


def test_order_is_stable_across_versions() -> None:
    # A run may be resumed with a newer version of Onym, so the order for a seed must never change.
    assert Shuffled(10, 7).at(np.arange(20)).tolist() == [7, 3, 2, 6, 4, 5, 1, 9, 0, 8, 2, 5, 8, 6, 7, 3, 1, 0, 9, 4]
    assert Shuffled(13_248_620, 7).at(np.array([0, 1, 13_248_620])).tolist() == [8796225, 5889414, 8101382]


def test_empty_indices_and_out_of_range_indices() -> None:
    assert Shuffled(0, 1).at(np.zeros(0, dtype=np.int64)).tolist() == []
    with pytest.raises(IndexError):
        Shuffled(0, 1).at(np.array([0]))
    with pytest.raises(IndexError):
        Shuffled(5, 1).at(np.array([-1]))
    assert len(Shuffled(5, 1)) == 5


@given(st.integers(-(2**70), 2**70), st.integers(0, 2**62), st.integers(1, 10**9), st.integers(0, 9))
def test_draw_is_first_number_of_row(seed: int, index: int, bound: int, stream: int) -> None:
    row = draw_rows(seed, np.array([index]), 3, stream=stream)[0]
    assert draw(seed, index, bound, stream=stream) == int(row[0]) % bound
    assert len(set(row.tolist())) == 3


def test_draws_are_uniform_and_streams_differ() -> None:
    indices = np.arange(60_000)
    rows = draw_rows(3, indices, 2)
    for column in (rows[:, 0], rows[:, 1], rows[:, 0] ^ rows[:, 1]):
        counts = np.bincount((column % np.uint64(6)).astype(np.int64), minlength=6)
        assert np.all(np.abs(counts - 10_000) < 500)
    assert not (rows == draw_rows(3, indices, 2, stream=1)).any()
    assert not (rows == draw_rows(4, indices, 2)).any()


@given(st.lists(st.integers(0, 2**64 - 1), max_size=6), st.integers(0, 8), st.data())
def test_picks_are_distinct(numbers: list[int], size: int, data: st.DataObject) -> None:
    without = data.draw(st.sets(st.integers(0, size - 1))) if size else set()
    found = pick(numbers, size, without)
    assert len(found) == len(set(found)) == min(len(numbers), size - len(without))
    assert set(found) <= set(range(size)) - without


def test_picks_are_uniform() -> None:
    rows = draw_rows(1, np.arange(6000), 2).tolist()
    pairs = Counter(tuple(pick(row, 4, exclude=(1,))) for row in rows)
    assert set(pairs) == {(0, 2), (0, 3), (2, 0), (2, 3), (3, 0), (3, 2)}
    assert all(850 < count < 1150 for count in pairs.values())


def test_with_count_changes_only_the_count() -> None:
    samples = OrderedSamples(5, count=0, seed=3)
    more = samples.with_count(99)
    assert (samples.epoch, len(samples)) == (5, 0)
    assert (more.epoch, len(more)) == (5, 99)
    assert type(more) is OrderedSamples


def length(sample: Sample) -> int:
    return len(sample.prompt) + len(sample.name)


@given(st.integers(1, 5), st.integers(0, 200), st.integers(0, 3))
def test_each_sample_appears_once_in_its_block(batch: int, count: int, seed: int) -> None:
    dataset = RecordingSamples([Sample([number], [], [0] * (number * 7 % 11)) for number in range(count)])
    found = [sample.source[0] for sample in Bucketed(dataset, batch, seed=seed).__getitems__(range(count))]
    block = batch * 16
    for first in range(0, count, block):
        assert sorted(found[first : first + block]) == list(range(first, min(first + block, count)))


def test_incomplete_block_is_not_sorted() -> None:
    few = samples(31)
    assert Bucketed(few, 2).__getitems__(range(31)) == few.samples
    many = samples(64 + 7)
    bucketed = Bucketed(many, 4)
    assert len(bucketed) == 71
    assert bucketed.__getitems__(range(64, 71)) == many.samples[64:]
    assert bucketed.__getitems__(range(64)) != many.samples[:64]


def test_batches_have_similar_lengths() -> None:
    many = samples(160)
    bucketed = Bucketed(many, 10).__getitems__(range(160))

    def padding(each: list[Sample]) -> int:
        batches = [each[first : first + 10] for first in range(0, 160, 10)]
        return sum(max(map(length, batch)) * 10 - sum(map(length, batch)) for batch in batches)

    assert padding(bucketed) < padding(many.samples) / 3


def test_shuffles_long_and_short_batches() -> None:
    bucketed = Bucketed(samples(160), 10, seed=1).__getitems__(range(160))
    means = [sum(map(length, bucketed[first : first + 10])) for first in range(0, 160, 10)]
    assert means not in (sorted(means), sorted(means, reverse=True))


@pytest.mark.parametrize("order", [range(96), range(95, -1, -1), [*range(50, 96), *range(50)]])
def test_index_always_gives_the_same_sample(order: range | list[int]) -> None:
    indices = list(order)
    whole = Bucketed(samples(96), 3, seed=5).__getitems__(range(96))
    bucketed = Bucketed(samples(96), 3, seed=5)
    assert [bucketed.__getitems__([index])[0] for index in indices] == [whole[index] for index in indices]


def test_seeds_and_blocks_have_different_orders() -> None:
    one, other = (Bucketed(samples(64), 4, seed=seed).__getitems__(range(64)) for seed in (0, 1))
    assert one != other
    assert Counter(map(length, one)) == Counter(map(length, other))


def test_reads_each_block_once() -> None:
    many = samples(64)
    bucketed = Bucketed(many, 4)
    for index in range(64):
        bucketed.__getitems__([index])
    assert sorted(many.indices) == list(range(64))


def test_buckets_pairs() -> None:
    many = pairs(48)
    found = Bucketed(many, 3).__getitems__(range(48))
    assert sorted(map(repr, found)) == sorted(map(repr, many.samples))
    widths = [max(len(pair.preferred), len(pair.rejected)) + len(pair.prompt) for pair in found]
    assert all(max(widths[first : first + 3]) - min(widths[first : first + 3]) <= 2 for first in range(0, 48, 3))
