"""Cuts the context window around a mention, for both training and inference.

`word_window` limits the words, as GenBioEL does; `token_window` limits the tokens. The mention is never cut.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from onym.errors import InputError


@dataclass(frozen=True, slots=True)
class Window:
    """A mention with its left and right context."""

    left: str
    surface: str
    right: str


def word_window(text: str, start: int, end: int, words: int = 384) -> Window:
    """Cut the context as GenBioEL does: at most `words` space-separated words, half of them on either side.

    The mention and its markers are not counted. If one side has fewer words than its half, the other side may have more.

    >>> word_window("one two three FEVER four five six", 14, 19, words=2)
    Window(left='three', surface='FEVER', right='four')
    """
    _require_inside(text, start, end)
    left, right = text[:start].strip(" "), text[end:].strip(" ")
    if len(text.split(" ")) <= words:
        return Window(left, text[start:end], right)
    before, after, half = left.split(" "), right.split(" "), words // 2
    if len(before) <= half:
        after = after[: words - len(before)]
    elif len(after) <= half:
        before = before[-(words - len(after)) :]
    else:
        before, after = before[-half:], after[:half]
    return Window(" ".join(before), text[start:end], " ".join(after))


def token_window(text: str, start: int, end: int, budget: int, tokens: Sequence[tuple[int, int]]) -> Window:
    """Cut the text to `budget` tokens around and including the mention. `tokens` are the spans of all tokens, in order.

    The mention is never cut. If the mention alone exceeds the budget, the context is empty.

    >>> spans = [(0, 3), (4, 7), (8, 13), (14, 17), (18, 21)]
    >>> token_window("one two FEVER six ten", 8, 13, 3, spans)
    Window(left='two', surface='FEVER', right='six')
    """
    _require_inside(text, start, end)
    first = bisect_right([token_end for _, token_end in tokens], start)
    last = bisect_left([token_start for token_start, _ in tokens], end)
    spare = max(0, budget - (last - first))
    before, after = first, len(tokens) - last
    take_left = min(before, max(spare // 2, spare - after))
    take_right = min(after, spare - take_left)
    begin = tokens[first - take_left][0] if take_left else start
    finish = tokens[last + take_right - 1][1] if take_right else end
    return Window(text[min(begin, start) : start].strip(" "), text[start:end], text[end : max(finish, end)].strip(" "))


def _require_inside(text: str, start: int, end: int) -> None:
    if not 0 <= start < end <= len(text):
        raise InputError("type-offsets", f"mention {start}:{end} is empty or outside the text of {len(text)} code points")
