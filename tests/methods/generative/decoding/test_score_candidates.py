"""Tests that scores of given names agree with the model's forward pass, for any batching."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from onym.methods.generative.decoding import score_candidates as module
from onym.methods.generative.decoding.adapters import adapter_of
from onym.methods.generative.decoding.score_candidates import ScoredName, score_candidates
from onym.methods.generative.decoding.session import TreeSession
from tests.methods.generative.decoding.families import logits, model
from tests.methods.generative.decoding.paths import EOS, PathSession, draw_logits, log_prob

CLOSE = 1e-3
SOURCES = [[5, 9, 11, 2], [7, 2], [30, 31, 4, 8, 12, 9, 2]]
PROMPTS = [[6, 17], [], [21, 22, 23, 5]]
NAMES = [[[4, 5, 6], [4, 5], [9]], [], [[4, 5, 6, 7, 8, 9], [4], [4]]]


def score_forced(family: str, source: list[int], prompt: list[int], name: list[int]) -> float:
    found, eos = model(family), model(family).config.eos_token_id
    return sum(
        float(torch.log_softmax(logits(found, source, [*prompt, *name[:row]]), dim=-1)[token])
        for row, token in enumerate([*name, eos])
    )


@pytest.mark.parametrize("family", ["bart", "t5"])
@pytest.mark.parametrize("rows", [1, 256])
def test_scores_are_those_of_the_models_own_forward_pass(family: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ROWS", rows)
    adapter = adapter_of(model(family))
    found = score_candidates(partial(TreeSession, adapter), SOURCES, PROMPTS, NAMES, eos=adapter.eos)
    assert [len(each) for each in found] == [3, 0, 3]
    for source, prompt, names, scores in zip(SOURCES, PROMPTS, NAMES, found, strict=True):
        for name, scored in zip(names, scores, strict=True):
            assert scored.tokens == len(name) + 1
            assert scored.log_prob == pytest.approx(score_forced(family, source, prompt, name), abs=CLOSE)


TOKENS = st.lists(st.integers(3, 6), max_size=3)


@given(st.lists(st.lists(TOKENS, max_size=4), max_size=5), st.integers(1, 6))
def test_any_names_in_any_batches(names: list[list[list[int]]], rows: int) -> None:
    """The generated names include common prefixes, repeated names, and names without tokens."""
    sessions: list[PathSession] = []

    def start(sources: Sequence[Sequence[int]]) -> PathSession:
        sessions.append(PathSession(sources))
        return sessions[-1]

    sources, prompts = [[row + 1] for row in range(len(names))], [[row % 3] for row in range(len(names))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROWS", rows)
        found = score_candidates(start, sources, prompts, names, eos=EOS)
    for source, prompt, candidates, scores in zip(sources, prompts, names, found, strict=True):
        expected = [log_prob(draw_logits, (*source, *prompt), tuple(name)) for name in candidates]
        assert [scored.log_prob for scored in scores] == pytest.approx(expected, abs=CLOSE)
    assert all(len(session.passes) <= 1 for session in sessions)


def test_no_names() -> None:
    def start(_sources: object) -> PathSession:
        raise AssertionError

    assert score_candidates(start, [[1], [2]], [[], []], [[], []], eos=EOS) == [[], []]


def test_mean_and_sum_scores() -> None:
    assert (ScoredName(-6.0, 3).score("sum"), ScoredName(-6.0, 3).score("mean")) == (-6.0, -2.0)
