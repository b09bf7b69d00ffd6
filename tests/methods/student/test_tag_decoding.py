"""Tests of tags: encoding spans, and decoding logits by Viterbi search."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from onym.methods.student.network import TAGS
from onym.methods.student.tags import decode_tags, encode_tags, log_softmax


def is_valid(tags: tuple[int, ...]) -> bool:
    """Return whether tags are outside, single, or begin, inside ..., end of one type."""
    opened = None
    for tag in tags:
        kind, type_ = (tag - 1) % TAGS, (tag - 1) // TAGS
        if opened is None:
            if tag and kind not in (0, 3):
                return False
            opened = type_ if tag and kind == 0 else None
        else:
            if tag == 0 or type_ != opened or kind not in (1, 2):
                return False
            opened = None if kind == 2 else opened
    return opened is None


@settings(max_examples=50)
@given(arrays(np.float32, (4, 9), elements=st.integers(-6, 6).map(float)))
def test_finds_the_best_valid_tags(logits: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
    found = decode_tags(log_softmax(logits), np.array([0, 4]))
    tags = encode_tags(found.first, found.last, found.type, 4)
    assert is_valid(tuple(tags.tolist()))
    best = max(sum(logits[row, tag] for row, tag in enumerate(each)) for each in product(range(9), repeat=4) if is_valid(each))
    assert (
        sum(logits[row, tag] for row, tag in enumerate(tags)) >= best - 0.05
    )  # tokens that are surely outside are not searched


def test_spans_do_not_cross_documents() -> None:
    logits = np.full((2, 5), -9, dtype=np.float32)
    logits[0, 1] = logits[1, 3] = 9
    assert decode_tags(log_softmax(logits), np.array([0, 2])).first.tolist() == [0]
    assert decode_tags(log_softmax(logits), np.array([0, 1, 2])).last.tolist() != [1]


def test_no_spans() -> None:
    logits = np.zeros((3, 5), dtype=np.float32)
    logits[:, 0] = 20
    found = decode_tags(log_softmax(logits), np.array([0, 0, 3]))
    assert [len(column) for column in found] == [0, 0, 0, 0]


def test_score_is_the_geometric_mean() -> None:
    logits = np.log(np.array([[0.1, 0.8, 0.05, 0.05, 0.0001], [0.5, 0.0001, 0.1, 0.4, 0.0001]], dtype=np.float32))
    found = decode_tags(log_softmax(logits), np.array([0, 2]))
    assert found.first.tolist() == [0]
    assert abs(float(found.score[0]) - (0.8 * 0.4) ** 0.5) < 1e-3


def test_a_text_that_may_be_one_mention_takes_little_memory() -> None:
    log_chances = log_softmax(np.zeros((20_000, 25), dtype=np.float32))
    tracemalloc.start()
    decode_tags(log_chances, np.array([0, 20_000]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 20_000  # bytes; the input has 100 per token
