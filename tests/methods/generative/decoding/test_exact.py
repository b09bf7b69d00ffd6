"""Tests that exact best-first search finds the best names and proves it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from onym.methods.generative.decoding.explorer import Explorer
from onym.methods.generative.decoding.search import WIDTH, BeamSearch, Decoded, ExactSearch, Ranking
from onym.methods.generative.decoding.session import TreeSession
from onym.methods.generative.trie.packed import PackedTrie
from tests.methods.generative.decoding.paths import (
    EOS,
    PathSession,
    Table,
    draw_logits,
    score_all_names,
    some_trie,
    tabulate_logits,
    trie,
)
from tests.robustness.decoding import decode_exact

rankings = pytest.mark.parametrize("ranking", ["mean", "sum"])


def explorer(names: PackedTrie, mentions: int = 1, table: Table = draw_logits, **more: Any) -> Explorer:
    return Explorer(PathSession([[mention] for mention in range(mentions)], table), names, [[]] * mentions, **more)


def best_of(names: PackedTrie, mention: int, ranking: Ranking, count: int) -> list[float]:
    scores = score_all_names(names, draw_logits, (mention,)).values()
    return sorted((total / (tokens if ranking == "mean" else 1) for total, tokens in scores), reverse=True)[:count]


def scores(decoded: Decoded, ranking: Ranking) -> list[float]:
    return [each.score(ranking) for each in decoded.hypotheses]


@rankings
@pytest.mark.parametrize("top_k", [1, 3, 50])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_names(ranking: Ranking, top_k: int, seed: int) -> None:
    names = some_trie(seed)
    found = ExactSearch(explorer(names, mentions=3, chain=seed % 3), top_k, ranking=ranking, at_once=1 + seed).run()
    for mention, decoded in enumerate(found):
        assert decoded.is_proved
        assert scores(decoded, ranking) == pytest.approx(best_of(names, mention, ranking, top_k), abs=1e-4)


def test_finds_what_a_beam_of_one_misses() -> None:
    names = trie([3, 5], [4, 6])
    table = tabulate_logits(
        {(0,): {3: 0.6, 4: 0.3}, (0, 3): {5: 0.1}, (0, 4): {6: 0.9}, (0, 3, 5): {EOS: 1.0}, (0, 4, 6): {EOS: 1.0}}
    )
    (beam,) = BeamSearch(explorer(names, table=table), 1).run()
    (exact,) = ExactSearch(explorer(names, table=table), 1).run()
    assert beam.hypotheses[0].leaf == names.find([3, 5])
    assert exact.hypotheses[0].leaf == names.find([4, 6])


def test_expands_no_more_nodes_than_needed() -> None:
    """With sum scores, the best name is proved once it beats every open prefix, so the other prefixes are never expanded."""
    names = trie([3, 4], [5, 4, 4], [6, 4, 4], [7, 4, 4])
    table = tabulate_logits({(0,): {3: 0.9}, (0, 3): {4: 0.9}, (0, 3, 4): {EOS: 0.9}})
    (found,) = ExactSearch(explorer(names, table=table), 1, ranking="sum", at_once=1).run()
    assert found.is_proved
    assert found.expansions == 3


@rankings
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("budget", [1, 2, 4])
def test_a_small_budget_gives_names_without_a_proof(ranking: Ranking, seed: int, budget: int) -> None:
    names = some_trie(seed + 10, max_names=60)
    found = ExactSearch(explorer(names, mentions=3), 2, ranking=ranking, budget=budget).run()
    beams = BeamSearch(explorer(names, mentions=3), WIDTH, ranking=ranking).run()
    all_scores = [score_all_names(names, draw_logits, (mention,)) for mention in range(3)]
    for decoded, beam, known in zip(found, beams, all_scores, strict=True):
        assert decoded.is_proved == (decoded.expansions <= budget)
        assert len(decoded.hypotheses) == min(2, len(known))
        for each in decoded.hypotheses:
            assert (each.log_prob, each.tokens) == pytest.approx(known[each.leaf], abs=1e-4)
        assert scores(decoded, ranking)[0] >= scores(beam, ranking)[0] - 1e-6


def test_small_budget_leaves_names_unproved() -> None:
    names = some_trie(11, max_names=60)
    assert not any(each.is_proved for each in ExactSearch(explorer(names, mentions=3), 2, budget=1).run())


def test_batched_expansion_respects_the_budget() -> None:
    """After the root, three prefixes are open but the budget allows only one more model call, so the search stops."""
    names = trie([3], [4], [5])
    (little,) = ExactSearch(explorer(names), 3, budget=2, at_once=8).run()
    (enough,) = ExactSearch(explorer(names), 3, budget=4, at_once=8).run()
    assert (little.is_proved, enough.is_proved) == (False, True)
    assert little.hypotheses == enough.hypotheses


def test_proved_and_unproved_in_one_batch() -> None:
    """The budget is per mention. Mentions with a proved result leave the batch; the other mentions fall back to beam search."""
    names = some_trie(1, max_names=60)
    free = ExactSearch(explorer(names, mentions=8), 1, budget=1000, at_once=1).run()
    budget = sorted(each.expansions for each in free)[4]
    found = ExactSearch(explorer(names, mentions=8), 1, budget=budget, at_once=1).run()
    assert {each.is_proved for each in found} == {True, False}
    for mine, right in zip(found, free, strict=True):
        assert not mine.is_proved or mine == right


@rankings
def test_a_restriction(ranking: Ranking) -> None:
    names = trie([3], [3, 4], [5], [6, 7])
    is_wanted = torch.tensor([False, True, False, True]).numpy()
    (found,) = ExactSearch(explorer(names, restriction=names.restriction(is_wanted)), 5, ranking=ranking).run()
    assert {each.leaf for each in found.hypotheses} == {names.find([3, 4]), names.find([6, 7])}
    assert found.is_proved


@rankings
@pytest.mark.parametrize("value", [-torch.inf, torch.inf, torch.nan])
def test_non_finite_logits_give_no_names(ranking: Ranking, value: float) -> None:
    found = ExactSearch(explorer(some_trie(2), mentions=2, table=lambda _: torch.full((9,), value)), 3, ranking=ranking).run()
    assert [each.hypotheses for each in found] == [(), ()]


@pytest.mark.slow
def test_agrees_with_brute_force() -> None:
    """Runs some of the 10,000 cases of tests/robustness/decoding/decode_exact.py, with real small models."""
    verdicts = [decode_exact.compare(seed) for seed in (1, 2, 3, 4)]
    assert [verdict.counts["mismatches"] for verdict in verdicts] == [0] * 4
    assert [verdict.counts["cases"] for verdict in verdicts] == [2 * decode_exact.Group.SIZE] * 4
    assert max(verdict.worst for verdict in verdicts) < 1e-4


def test_parity_check_detects_inexact_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows that the comparison can fail: a search that stops after a few prefixes is not exact."""
    group = decode_exact.Group.random(2)

    def hasty(self: decode_exact.Group, ranking: Ranking, top_k: int) -> list[Decoded]:
        session = TreeSession(self.model.adapter, self.sources)
        return ExactSearch(Explorer(session, self.trie, self.prompts), top_k, ranking=ranking, budget=2).run()

    assert group.trie.node_count > 20
    monkeypatch.setattr(decode_exact.Group, "exact", hasty)
    assert decode_exact.compare(2).counts["mismatches"] == 2 * decode_exact.Group.SIZE
