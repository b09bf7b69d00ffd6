"""Decodes tags of tokens (begin, inside, end, single; BIOES) into spans, by Viterbi search over arrays.

Only stretches of tokens that may be in a mention are searched, all stretches of one length at once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onym.methods.student.network import TAGS, Floats
from onym.text.fingerprints import Ints

_CLEARLY_OUTSIDE = 0.995  # a token with this probability of tag 0 is in no mention
_AT_ONCE = 16_384  # tokens of stretches that are searched together
_BEGIN, _INSIDE, _END, _SINGLE = range(TAGS)
_NEVER = np.float32(-np.inf)


class TaggedSpans(NamedTuple):
    """Spans of tokens: first and last token, number of the type, and probability."""

    first: Ints
    last: Ints
    type: Ints
    score: Floats


def decode_tags(log_chances: Floats, bounds: Ints) -> TaggedSpans:
    """Return the most probable spans; `bounds` has the first token of each document, and the number of tokens.

    >>> logits = np.array([[0, 9, 0, 0, 0], [0, 0, 0, 9, 0], [9, 0, 0, 0, 0]], dtype=np.float32)  # begin, end, outside
    >>> found = decode_tags(log_softmax(logits), np.array([0, 3]))
    >>> found.first.tolist(), found.last.tolist(), found.type.tolist()
    ([0], [1], [0])
    """
    parts = [
        _decode_stretches(log_chances, firsts[row : row + max(1, _AT_ONCE // length)], length)
        for firsts, length in _stretches(log_chances, bounds)
        for row in range(0, len(firsts), max(1, _AT_ONCE // length))
    ]
    first, last, kind = (np.concatenate([each[column] for each in parts] or [np.empty(0, np.int64)]) for column in range(3))
    order = np.argsort(first, kind="stable")
    first, last, kind = first[order], last[order], kind[order]
    return TaggedSpans(first, last, kind, score_tags(log_chances, first, last, kind))


def encode_tags(first: Ints, last: Ints, types: Ints, count: int) -> Ints:
    """Return the tags of `count` tokens from spans; a span that overlaps an earlier one is dropped.

    >>> encode_tags(np.array([1, 4]), np.array([2, 4]), np.array([0, 1]), 5).tolist()
    [0, 1, 3, 0, 8]
    """
    tags = np.zeros(count, dtype=np.int64)
    for start, end, kind in zip(first.tolist(), last.tolist(), types.tolist(), strict=True):
        if not tags[start : end + 1].any():
            base = 1 + TAGS * kind
            tags[start : end + 1] = base + _INSIDE
            tags[start], tags[end] = base + _BEGIN, base + _END
            if start == end:
                tags[start] = base + _SINGLE
    return tags


def log_softmax(logits: Floats) -> Floats:
    """Return the logarithms of the probabilities of each token's tags."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    found: Floats = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found


def _stretches(log_chances: Floats, bounds: Ints) -> list[tuple[Ints, int]]:
    """Return the stretches of tokens that may be in mentions, as (first tokens, length), by length."""
    may_be = log_chances[:, 0] < np.log(np.float32(_CLEARLY_OUTSIDE))
    is_first = np.zeros(len(may_be) + 1, dtype=bool)
    is_first[bounds] = True
    before = np.concatenate(([False], may_be[:-1]))
    after = np.concatenate((may_be[1:], [False]))
    firsts = np.flatnonzero(may_be & (~before | is_first[:-1]))
    lengths = np.flatnonzero(may_be & (~after | is_first[1:])) - firsts + 1
    return [(firsts[lengths == length], length) for length in np.unique(lengths).tolist()]


def _decode_stretches(log_chances: Floats, firsts: Ints, length: int) -> tuple[Ints, Ints, Ints]:
    """Return the spans in stretches of one length: first token, last token, type."""
    allowed, start, end = _rules(log_chances.shape[1])
    rows, best = np.arange(len(firsts)), log_chances[firsts] + start
    back = np.empty((length - 1, *best.shape), dtype=np.min_scalar_type(best.shape[1]))  # a whole text may be one stretch
    for column in range(1, length):
        scores = best[:, :, None] + allowed
        back[column - 1] = scores.argmax(axis=1)
        best = scores.max(axis=1) + log_chances[firsts + column]
    tags = np.empty((len(firsts), length), dtype=np.int32)
    tags[:, -1] = (best + end).argmax(axis=1)
    for column in range(length - 2, -1, -1):
        tags[:, column] = back[column][rows, tags[:, column + 1]]
    kinds = np.where(tags > 0, (tags - 1) % TAGS, -1)
    row, first = np.nonzero((kinds == _BEGIN) | (kinds == _SINGLE))
    last = np.nonzero((kinds == _END) | (kinds == _SINGLE))[1]  # in order, so that the n-th begin belongs to the n-th end
    return firsts[row] + first, firsts[row] + last, (tags[row, first].astype(np.int64) - 1) // TAGS


def score_tags(log_chances: Floats, first: Ints, last: Ints, types: Ints) -> Floats:
    """Return the score of each span: the geometric mean of the probabilities of its tags."""
    lengths = last - first + 1
    offsets = np.cumsum(lengths) - lengths
    inside = np.arange(int(lengths.sum())) - np.repeat(offsets, lengths)
    tags = np.full(len(inside), _INSIDE)
    tags[offsets], tags[offsets + lengths - 1] = _BEGIN, _END
    tags[offsets[lengths == 1]] = _SINGLE
    chosen = log_chances[np.repeat(first, lengths) + inside, 1 + TAGS * np.repeat(types, lengths) + tags]
    if not len(first):
        return np.empty(0, dtype=np.float32)
    found: Floats = np.exp(np.add.reduceat(chosen, offsets) / lengths.astype(np.float32))
    return found


@lru_cache(64)
def _rules(count: int) -> tuple[Floats, Floats, Floats]:
    """Return the allowed transitions between tags, and the tags allowed at the start and at the end (0, or minus infinity)."""
    tags = np.arange(count)
    types, kinds = (tags - 1) // TAGS, (tags - 1) % TAGS
    is_outside = tags == 0
    closes = is_outside | (kinds == _END) | (kinds == _SINGLE)
    opens = is_outside | (kinds == _BEGIN) | (kinds == _SINGLE)
    goes_on = ~closes[:, None] & ~opens[None, :] & (types[:, None] == types[None, :])
    is_allowed = (closes[:, None] & opens[None, :]) | goes_on

    def cost(allowed: npt.NDArray[np.bool_]) -> Floats:
        return np.where(allowed, np.float32(0), _NEVER)

    return cost(is_allowed), cost(opens), cost(closes)
