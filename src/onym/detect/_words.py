"""Where a mention may begin and end: at the edges of words, which tokens of a model may split."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onym.text.tokens import Placed

Marks = npt.NDArray[np.bool_]


def word_edges(text: str, tokens: Placed) -> tuple[Marks, Marks]:
    """Return of each token whether a word begins with it, and whether one ends with it; an empty one does neither.

    A word is broken where two tokens meet that are not both letters and digits there: `cocaine-induced` has three.

    >>> tokens = Placed(np.array([1, 2, 3, 4]), np.array([0, 2, 4, 5]), np.array([2, 4, 5, 8]))
    >>> [marks.tolist() for marks in word_edges("feve-ish", tokens)]
    [[True, False, True, True], [False, True, True, True]]
    """
    is_there = tokens.ends > tokens.starts
    rows = np.flatnonzero(is_there)
    starts, ends = tokens.starts[rows].tolist(), tokens.ends[rows].tolist()
    joined = [
        end > start or (end == start and text[end - 1].isalnum() and text[start].isalnum())
        for end, start in zip(ends, starts[1:], strict=False)
    ]
    begins, finishes = np.zeros(len(tokens), dtype=np.bool_), np.zeros(len(tokens), dtype=np.bool_)
    if len(rows):
        begins[rows] = ~np.array([False, *joined])
        finishes[rows] = ~np.array([*joined, False])
    return begins, finishes


def word_spans(text: str, tokens: Placed, max_tokens: int) -> npt.NDArray[np.int64]:
    """Return all spans of whole words of at most so many tokens, in order. *Shape:* (spans, 2): first token, last token + 1.

    >>> tokens = Placed(np.array([1, 2, 3]), np.array([0, 5, 9]), np.array([4, 9, 14]))
    >>> word_spans("high fevers again", tokens, 2).tolist()
    [[0, 1], [1, 3]]
    """
    begins, finishes = word_edges(text, tokens)
    firsts = np.flatnonzero(begins)
    lasts = firsts[:, None] + np.arange(1, max_tokens + 1)[None, :]  # (words, lengths)
    is_end = np.zeros(len(tokens) + max_tokens + 1, dtype=np.bool_)
    is_end[1 : len(tokens) + 1] = finishes
    rows, lengths = np.nonzero(is_end[lasts])
    return np.stack([firsts[rows], lasts[rows, lengths]], 1).astype(np.int64)
