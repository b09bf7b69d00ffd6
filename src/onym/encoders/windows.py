"""Windows over a document that is longer than a model reads at once: they overlap, and know nothing of mentions."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple


class Window(NamedTuple):
    """Tokens from `start` to `end` are read together; those from `first` to `last` are taken from this window."""

    start: int
    end: int
    first: int
    last: int


def windows(tokens: int, length: int, overlap: int) -> list[Window]:
    """Return the windows over so many tokens. Each token is taken from the one window in which it stands farther from an end.

    Where a window stands depends on the number of tokens before it alone: what is far behind a token never changes its window,
    but whether there is a next one.

    >>> windows(10, 6, 2)
    [Window(start=0, end=6, first=0, last=5), Window(start=4, end=10, first=5, last=10)]
    >>> windows(3, 6, 2)
    [Window(start=0, end=3, first=0, last=3)]
    """
    if tokens <= length:
        return [Window(0, tokens, 0, tokens)] if tokens else []
    step = length - overlap
    starts = range(0, tokens - overlap, step)
    ends = [min(start + length, tokens) for start in starts]
    middles = [0, *(start + (overlap + 1) // 2 for start in starts[1:]), tokens]
    return [Window(start, end, *own) for start, end, own in zip(starts, ends, pairwise(middles), strict=True)]
