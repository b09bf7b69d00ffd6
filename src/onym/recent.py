"""A cache of the most recently used values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps the values of the most recently used keys, at most `size` of them. Not thread-safe.

    >>> recent = Recent[str, int](2)
    >>> [recent.fill(keys, lambda new: [len(key) for key in new]) for keys in (["a", "bb"], ["bb", "ccc"], ["a"])]
    [[1, 2], [2, 3], [1]]
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[K, V] = OrderedDict()

    def fill(self, keys: Sequence[K], compute: Callable[[list[K]], Iterable[V]]) -> list[V]:
        """Return the value of each key; the unknown ones are computed together."""
        values = self._values
        if new := [key for key in dict.fromkeys(keys) if key not in values]:
            values.update(dict(zip(new, compute(new), strict=True)))  # all of them, or none
        found = []
        for key in keys:
            values.move_to_end(key)
            found.append(values[key])
        while len(values) > self._size:
            values.popitem(last=False)
        return found
