"""Random orders and draws that are computed, not stored: what comes at an index follows from the seed and the index alone.

So training can resume anywhere, any number of processes can share it, and memory does not grow with the data.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from typing import Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
Ints = npt.NDArray[np.int64]
Draws = npt.NDArray[np.uint64]

_MASK = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15  # splitmix64: Steele, Lea and Flood 2014, and its two multipliers
_ONE, _TWO = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_ROUNDS = 8
_ORDER = 1  # the stream of an order's keys: not the one that samples are drawn from


class Shuffled:
    """The numbers below `length` in a random order by `seed`, over and over: every epoch has another order.

    >>> order = Shuffled(5, seed=3)
    >>> sorted(order.at(np.arange(5)).tolist()), sorted(order.at(np.arange(5, 10)).tolist())
    ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    """

    __slots__ = ("_length", "_seed")

    def __init__(self, length: int, seed: int) -> None:
        self._length = length
        self._seed = seed

    def __len__(self) -> int:
        """Return the length of an epoch."""
        return self._length

    def at(self, indices: Ints) -> Ints:
        """Return the numbers at these indices; `index // length` is the epoch."""
        if len(indices) == 0:
            return np.zeros(0, dtype=np.int64)
        if not self._length or int(indices.min()) < 0:
            raise IndexError("no such index in the order")
        epochs, numbers = np.divmod(indices.astype(np.uint64), np.uint64(self._length))
        return permute(numbers, np.full_like(numbers, self._length), self._seed, epochs, stream=_ORDER)


class OrderedSamples:
    """A base of datasets: `count` samples of `epoch` different ones, each seen once in an epoch, in an order by `seed`.

    >>> samples = OrderedSamples(5, count=12, seed=3)
    >>> samples.epoch, len(samples), len(samples.with_count(7))
    (5, 12, 7)
    """

    def __init__(self, epoch: int, count: int, seed: int) -> None:
        self._order, self._count = Shuffled(epoch, seed), count

    @property
    def epoch(self) -> int:
        """The number of samples in an epoch."""
        return len(self._order)

    def __len__(self) -> int:
        return self._count

    def with_count(self, count: int) -> Self:
        """Return the same samples, but so many: the size of an epoch is known only once they are there."""
        other = copy(self)
        other._count = count  # noqa: SLF001 - its own
        return other


class OrderedList(OrderedSamples, Generic[T]):
    """Samples that are in memory, in that order.

    >>> samples = OrderedList(["a", "b"], count=4, seed=3)
    >>> sorted(samples.__getitems__([0, 1]))
    ['a', 'b']
    """

    def __init__(self, items: Sequence[T], count: int, seed: int) -> None:
        self._items = items
        super().__init__(len(items), count, seed)

    def __getitems__(self, indices: Sequence[int]) -> list[T]:
        return [self._items[row] for row in self._order.at(np.asarray(indices, dtype=np.int64)).tolist()]


def permute(
    numbers: npt.NDArray[np.integer],
    lengths: npt.NDArray[np.integer],
    seed: int,
    orders: npt.NDArray[np.integer],
    *,
    stream: int,
) -> Ints:
    """Return what comes at each number, in an order of its own `length`; `orders` tells which of all orders by the seed it is.

    A Feistel network over pairs (high, low) with high * low >= length: each round adds to one half a hash of the other, so it
    can be undone, and is a permutation. A number that falls outside is sent through again until it falls inside.

    >>> permute(np.array([0, 1, 2, 0]), np.array([3, 3, 3, 1]), 13, np.array([7, 7, 7, 8]), stream=9).tolist()
    [0, 2, 1, 0]
    """
    bounds = lengths.astype(np.uint64)
    highs = np.sqrt(bounds - np.uint64(1)).astype(np.uint64) + np.uint64(1)
    lows = (bounds - np.uint64(1)) // highs + np.uint64(1)
    keys = draw_rows(seed, orders, _ROUNDS, stream=stream)
    found = _sent_through(numbers.astype(np.uint64), keys, highs, lows)
    while len(out := np.flatnonzero(found >= bounds)):
        found[out] = _sent_through(found[out], keys[out], highs[out], lows[out])
    return found.astype(np.int64)


def _sent_through(numbers: Draws, keys: Draws, highs: Draws, lows: Draws) -> Draws:
    high, low = np.divmod(numbers, lows)
    for turn in range(0, _ROUNDS, 2):
        high = (high + _mixed(low ^ keys[:, turn]) % highs) % highs
        low = (low + _mixed(high ^ keys[:, turn + 1]) % lows) % lows
    return np.asarray(high * lows + low)


def draw(seed: int, index: int, bound: int, *, stream: int = 0) -> int:
    """Return a random number below `bound` for an index: always the same one.

    >>> draw(13, 7, 100) == draw(13, 7, 100), draw(13, 7, 1)
    (True, 0)
    """
    state = _mixed_one(index + _mixed_one(seed + stream * _STEP))
    return _mixed_one(state + _STEP) % bound


def draw_rows(seed: int, indices: npt.NDArray[np.integer], width: int, *, stream: int = 0) -> Draws:
    """Return for each index a row of `width` random numbers of 64 bits: splitmix64, seeded with a hash of seed and index.

    The first of a row is what `draw` takes. Streams of one seed have nothing to do with each other.

    >>> int(draw_rows(13, np.array([7]), 2)[0, 0]) % 100 == draw(13, 7, 100)
    True
    """
    start = np.uint64(_mixed_one(seed + stream * _STEP))
    states = _mixed(indices.astype(np.uint64) + start)
    steps = np.array([_STEP * turn & _MASK for turn in range(1, width + 1)], dtype=np.uint64)
    return _mixed(states[:, None] + steps)


def pick(numbers: Sequence[int], size: int, exclude: Collection[int] = ()) -> list[int]:
    """Return distinct indices below `size`, one for each random number while there are any; none of `exclude`.

    >>> pick([4, 4, 4], 3)
    [1, 0, 2]
    >>> pick([5, 6], 4, exclude=[0, 3])
    [2, 1]
    """
    taken = sorted(exclude)
    found: list[int] = []
    for number in numbers[: max(0, size - len(taken))]:
        index = number % (size - len(taken))
        for other in taken:  # in order, so that each is stepped over once
            index += index >= other
        found.append(index)
        taken = sorted((*taken, index))
    return found


def _mixed(values: Draws) -> Draws:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(_ONE)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(_TWO)
    return np.asarray(values ^ (values >> np.uint64(31)))


def _mixed_one(value: int) -> int:
    value &= _MASK
    value = (value ^ (value >> 30)) * _ONE & _MASK
    value = (value ^ (value >> 27)) * _TWO & _MASK
    return value ^ (value >> 31)
