from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.train.samples.order import OrderedSamples, Shuffled, draw, draw_rows, permute, pick


@given(st.integers(1, 3000), st.integers(-(2**70), 2**70), st.integers(0, 10**12))
def test_an_epoch_is_a_permutation(length: int, seed: int, epoch: int) -> None:
    order = Shuffled(length, seed)
    assert sorted(order.at(np.arange(length) + epoch * length).tolist()) == list(range(length))


@pytest.mark.parametrize("length", [*range(1, 70), 10_007, 2**14, 2**14 + 1])
def test_each_length_has_an_order(length: int) -> None:
    assert sorted(Shuffled(length, 13).at(np.arange(length)).tolist()) == list(range(length))


def test_the_order_is_the_seeds() -> None:
    indices = np.arange(3000)
    first = Shuffled(1000, 13).at(indices)
    assert first.tolist() == Shuffled(1000, 13).at(indices).tolist()
    assert first[:1000].tolist() != first[1000:2000].tolist() != first[2000:].tolist()
    assert first.tolist() != Shuffled(1000, 14).at(indices).tolist()


def test_a_position_does_not_depend_on_the_others() -> None:
    order = Shuffled(977, 5)
    indices = np.random.default_rng(0).integers(0, 5000, 300)
    together = order.at(indices).tolist()
    assert together == [int(order.at(np.array([index]))[0]) for index in indices]


def test_an_order_looks_random() -> None:
    length = 100_000
    found = Shuffled(length, 2).at(np.arange(length))
    near = np.arange(length)
    assert abs(np.corrcoef(near, found)[0, 1]) < 0.02
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.02
    assert 0.3 < np.mean(found[1:] > found[:-1]) < 0.7
    assert (found == near).sum() < 12  # one is expected
    tenths = np.bincount(found[: length // 10] * 10 // length, minlength=10)
    assert tenths.min() > 850


def test_small_orders_reach_each_permutation() -> None:
    found = {tuple(Shuffled(4, seed).at(np.arange(4)).tolist()) for seed in range(1000)}
    assert len(found) == 24


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 10**9)), min_size=1, max_size=9, unique_by=lambda each: each[1]))
def test_orders_of_many_lengths_at_once(orders: list[tuple[int, int]]) -> None:
    numbers = np.array([number for length, _ in orders for number in range(length)])
    lengths, which = (np.array([each[part] for each in orders for _ in range(each[0])]) for part in (0, 1))
    found = permute(numbers, lengths, 3, which, stream=9)
    for length, order in orders:
        assert sorted(found[which == order].tolist()) == list(range(length))
    one = np.array([len(numbers) // 2])
    assert permute(numbers[one], lengths[one], 3, which[one], stream=9) == found[one]


def test_an_order_is_always_the_same() -> None:
    # A training resumes where it stopped, with whatever version: what comes at a place must never change.
    assert Shuffled(10, 7).at(np.arange(20)).tolist() == [7, 3, 2, 6, 4, 5, 1, 9, 0, 8, 2, 5, 8, 6, 7, 3, 1, 0, 9, 4]
    assert Shuffled(13_248_620, 7).at(np.array([0, 1, 13_248_620])).tolist() == [8796225, 5889414, 8101382]


def test_no_positions_and_no_length() -> None:
    assert Shuffled(0, 1).at(np.zeros(0, dtype=np.int64)).tolist() == []
    with pytest.raises(IndexError):
        Shuffled(0, 1).at(np.array([0]))
    with pytest.raises(IndexError):
        Shuffled(5, 1).at(np.array([-1]))
    assert len(Shuffled(5, 1)) == 5


@given(st.integers(-(2**70), 2**70), st.integers(0, 2**62), st.integers(1, 10**9), st.integers(0, 9))
def test_one_draw_is_the_first_of_a_row(seed: int, index: int, bound: int, stream: int) -> None:
    row = draw_rows(seed, np.array([index]), 3, stream=stream)[0]
    assert draw(seed, index, bound, stream=stream) == int(row[0]) % bound
    assert len(set(row.tolist())) == 3


def test_draws_are_even_and_streams_differ() -> None:
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


def test_picks_are_even() -> None:
    rows = draw_rows(1, np.arange(6000), 2).tolist()
    pairs = Counter(tuple(pick(row, 4, exclude=(1,))) for row in rows)
    assert set(pairs) == {(0, 2), (0, 3), (2, 0), (2, 3), (3, 0), (3, 2)}
    assert all(850 < count < 1150 for count in pairs.values())


def test_the_same_samples_but_so_many() -> None:
    samples = OrderedSamples(5, count=0, seed=3)
    more = samples.with_count(99)
    assert (samples.epoch, len(samples)) == (5, 0)
    assert (more.epoch, len(more)) == (5, 99)
    assert type(more) is OrderedSamples
