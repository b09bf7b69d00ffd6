"""Spans that get in each other's way: the better one stays, then the longer one, then the first in the text."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from onym.detect.base import Span


def resolved(spans: Iterable[Span], *, nested: bool = False) -> list[Span]:
    """Return the spans that stay, in the order of the text; the order in which they are given does not matter.

    With `nested`, a span may lie inside another, but none may cross another, and of several at one place one stays.

    >>> spans = [Span(0, 6), Span(0, 17), Span(7, 17), Span(10, 20)]  # breast, breast carcinoma, carcinoma
    >>> [(span.start, span.end) for span in resolved(spans)]
    [(0, 17)]
    >>> [(span.start, span.end) for span in resolved(spans, nested=True)]
    [(0, 6), (0, 17), (7, 17)]
    """
    ranked = sorted(spans, key=_rank)
    return _nested(ranked) if nested else _disjoint(ranked)


def _rank(span: Span) -> tuple[float, int, int, str]:
    return -span.score, span.start - span.end, span.start, span.type


def _disjoint(ranked: Iterable[Span]) -> list[Span]:
    """Return the spans of which none touches another: of those that begin before its end, the last is the one that may."""
    kept: list[Span] = []
    starts: list[int] = []
    for span in ranked:
        row = bisect_left(starts, span.end)
        if not row or kept[row - 1].end <= span.start:
            kept.insert(row, span)
            starts.insert(row, span.start)
    return kept


def _nested(ranked: Iterable[Span]) -> list[Span]:
    kept: list[Span] = []
    max_length = 0
    for span in ranked:
        # Whatever touches this span begins before its end, and not so far before its start that it ends there.
        first = bisect_left(kept, span.start - max_length, key=_start)
        last = bisect_left(kept, span.end, key=_start)
        if all(_may_both_stay(span, other) for other in kept[first:last]):
            insort(kept, span, key=_offsets)
            max_length = max(max_length, span.length)
    return kept


def _start(span: Span) -> int:
    return span.start


def _offsets(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _may_both_stay(one: Span, other: Span) -> bool:
    if one.end <= other.start or other.end <= one.start:
        return True
    is_inside = other.start <= one.start and one.end <= other.end
    is_around = one.start <= other.start and other.end <= one.end
    return is_inside != is_around
