"""Types of training samples, pseudo-random orders that are computed instead of stored, and bucketing by length.

The sample at an index is determined by the seed and the index. So training can resume at any step, any number of processes can
share the data, and no permutation is kept in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor

Batch: TypeAlias = "dict[str, Tensor]"
"""Samples as tensors: the output of a collate function and the input of a trainer."""
T_co = TypeVar("T_co", bound="Sample | Pair | Positive", covariant=True)
S = TypeVar("S")
Ints = npt.NDArray[np.int64]
Draws = npt.NDArray[np.uint64]
_MASK = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15  # increment of splitmix64 (Steele, Lea and Flood 2014); the next line has its multipliers
_ONE, _TWO = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_ROUNDS = 8
_ORDER = 1  # random stream for permutations; samples draw from other streams
_BATCHES = 16  # number of batches per block; the samples of a block are sorted by length


@dataclass(frozen=True, slots=True)
class Sample:
    """A mention and the name to generate for it, as token ids; the name has no end token."""

    source: list[int]
    prompt: list[int]
    name: list[int]


@dataclass(frozen=True, slots=True)
class Pair:
    """A mention, a right and a wrong name, as token ids; `reference` has the reference model's scores of both names."""

    source: list[int]
    prompt: list[int]
    preferred: list[int]
    rejected: list[int]
    reference: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Positive:
    """A positive pair: two strings of one concept (a KB row); `names` are the ids of the strings.

    A string that is not a KB name has an id >= the number of KB names. `also` are further concepts of the first string.
    """

    first: str
    second: str
    concept: int
    names: tuple[int, int]
    also: tuple[int, ...] = ()


class Samples(Protocol[T_co]):
    """Samples by index; the same index always gives the same sample, so that training can resume at any step."""

    def __len__(self) -> int:
        """Return the number of samples over all epochs."""

    def __getitems__(self, indices: Sequence[int]) -> Sequence[T_co]:
        """Return the samples at these indices."""


class RepeatedSamples(Samples[T_co], Protocol[T_co]):
    """Samples that are repeated for any number of epochs."""

    @property
    def epoch(self) -> int:
        """The number of samples in an epoch."""

    def with_count(self, count: int) -> Self:
        """Return a copy with `count` samples in total."""


class Shuffled:
    """An endless sequence of shuffled epochs; each epoch is another permutation of range(length), determined by `seed`.

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
            raise IndexError("index out of range")
        epochs, numbers = np.divmod(indices.astype(np.uint64), np.uint64(self._length))
        return permute(numbers, np.full_like(numbers, self._length), self._seed, epochs, stream=_ORDER)


class OrderedSamples:
    """Base class of samples: `count` in total, shuffled by `seed`; each epoch contains all `epoch` different samples once.

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
        """Return a copy with `count` samples in total, for callers that need the epoch size to compute `count`."""
        other = copy(self)
        other._count = count  # noqa: SLF001 - same class
        return other


class OrderedList(OrderedSamples, Generic[S]):
    """A list of samples in memory, shuffled as in `OrderedSamples`.

    >>> samples = OrderedList(["a", "b"], count=4, seed=3)
    >>> sorted(samples.__getitems__([0, 1]))
    ['a', 'b']
    """

    def __init__(self, items: Sequence[S], count: int, seed: int) -> None:
        self._items = items
        super().__init__(len(items), count, seed)

    def __getitems__(self, indices: Sequence[int]) -> list[S]:
        return [self._items[row] for row in self._order.at(np.asarray(indices, dtype=np.int64)).tolist()]


def permute(
    numbers: npt.NDArray[np.integer],
    lengths: npt.NDArray[np.integer],
    seed: int,
    orders: npt.NDArray[np.integer],
    *,
    stream: int,
) -> Ints:
    """Return the element at position `numbers[i]` of permutation number `orders[i]` of range(lengths[i]), for each i.

    A permutation is a Feistel network over pairs (high, low) with high * low >= length: each round adds a hash of one half to
    the other, which is invertible. A result >= length is passed through the network again until it is in range.

    >>> permute(np.array([0, 1, 2, 0]), np.array([3, 3, 3, 1]), 13, np.array([7, 7, 7, 8]), stream=9).tolist()
    [0, 2, 1, 0]
    """
    bounds = lengths.astype(np.uint64)
    highs = np.sqrt(bounds - np.uint64(1)).astype(np.uint64) + np.uint64(1)
    lows = (bounds - np.uint64(1)) // highs + np.uint64(1)
    keys = draw_rows(seed, orders, _ROUNDS, stream=stream)
    found = _send_through(numbers.astype(np.uint64), keys, highs, lows)
    while len(out := np.flatnonzero(found >= bounds)):
        found[out] = _send_through(found[out], keys[out], highs[out], lows[out])
    return found.astype(np.int64)


def _send_through(numbers: Draws, keys: Draws, highs: Draws, lows: Draws) -> Draws:
    high, low = np.divmod(numbers, lows)
    for turn in range(0, _ROUNDS, 2):
        high = (high + _mix(low ^ keys[:, turn]) % highs) % highs
        low = (low + _mix(high ^ keys[:, turn + 1]) % lows) % lows
    return np.asarray(high * lows + low)


def draw(seed: int, index: int, bound: int, *, stream: int = 0) -> int:
    """Return a random number below `bound`, determined by seed, index and stream.

    >>> draw(13, 7, 100) == draw(13, 7, 100), draw(13, 7, 1)
    (True, 0)
    """
    state = _mix_one(index + _mix_one(seed + stream * _STEP))
    return _mix_one(state + _STEP) % bound


def draw_rows(seed: int, indices: npt.NDArray[np.integer], width: int, *, stream: int = 0) -> Draws:
    """Return `width` random 64-bit numbers for each index: splitmix64, seeded with a hash of seed, stream and index.

    `draw` uses the first number of a row. Different streams of one seed are independent.

    >>> int(draw_rows(13, np.array([7]), 2)[0, 0]) % 100 == draw(13, 7, 100)
    True
    """
    start = np.uint64(_mix_one(seed + stream * _STEP))
    states = _mix(indices.astype(np.uint64) + start)
    steps = np.array([_STEP * turn & _MASK for turn in range(1, width + 1)], dtype=np.uint64)
    return _mix(states[:, None] + steps)


def pick(numbers: Sequence[int], size: int, exclude: Collection[int] = ()) -> list[int]:
    """Return distinct indices below `size` that are not in `exclude`: one per random number, until no index is left.

    >>> pick([4, 4, 4], 3)
    [1, 0, 2]
    >>> pick([5, 6], 4, exclude=[0, 3])
    [2, 1]
    """
    taken = sorted(exclude)
    found: list[int] = []
    for number in numbers[: max(0, size - len(taken))]:
        index = number % (size - len(taken))
        for other in taken:  # ascending, so that each taken index shifts the result once
            index += index >= other
        found.append(index)
        taken = sorted((*taken, index))
    return found


def _mix(values: Draws) -> Draws:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(_ONE)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(_TWO)
    return np.asarray(values ^ (values >> np.uint64(31)))


def _mix_one(value: int) -> int:
    value &= _MASK
    value = (value ^ (value >> 30)) * _ONE & _MASK
    value = (value ^ (value >> 27)) * _TWO & _MASK
    return value ^ (value >> 31)


B = TypeVar("B", bound=Sample | Pair)


class Bucketed(Generic[B]):
    """Samples bucketed by length: each block of 16 batches is sorted by length, and its batches are shuffled.

    An incomplete block at the end is not sorted.
    """

    def __init__(self, samples: Samples[B], batch: int, *, seed: int = 0) -> None:
        self._samples, self._batch = samples, batch
        self._block = batch * _BATCHES
        self._order = Shuffled(_BATCHES, seed)
        self._last: tuple[int, list[B]] = (-1, [])

    def __len__(self) -> int:
        return len(self._samples)

    def __getitems__(self, indices: Sequence[int]) -> list[B]:
        return [self._at(index) for index in indices]

    def _at(self, index: int) -> B:
        block, within = divmod(index, self._block)
        if (block + 1) * self._block > len(self._samples):
            return self._samples.__getitems__([index])[0]
        if self._last[0] != block:
            self._last = block, self._sort_block(block)
        return self._last[1][within]

    def _sort_block(self, block: int) -> list[B]:
        first = block * self._block
        found = sorted(self._samples.__getitems__(range(first, first + self._block)), key=_length)
        order = self._order.at(np.arange(block * _BATCHES, (block + 1) * _BATCHES))
        return [sample for number in order.tolist() for sample in found[number * self._batch : (number + 1) * self._batch]]


def _length(sample: Sample | Pair) -> tuple[int, int]:
    written = sample.name if isinstance(sample, Sample) else max(sample.preferred, sample.rejected, key=len)
    return len(sample.prompt) + len(written), len(sample.source)
