"""Tests that beam search agrees with transformers and fairseq."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from onym.methods.generative.decoding.explorer import Explorer
from onym.methods.generative.decoding.search import BeamSearch, Decoded, Ranking, Stopping
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
from tests.robustness.decoding import decode_parity

both = pytest.mark.parametrize("stopping", ["transformers", "fairseq"])


def search(
    names: PackedTrie, width: int, *, mentions: int = 1, table: Table = draw_logits, chain: int = 0, **more: Any
) -> tuple[list[Decoded], PathSession]:
    session = PathSession([[mention] for mention in range(mentions)], table)
    explorer = Explorer(session, names, [[]] * mentions, widest=2 * width, chain=chain)
    return BeamSearch(explorer, width, **more).run(), session


def leaves(decoded: Decoded) -> list[int]:
    return [each.leaf for each in decoded.hypotheses]


def test_finished_names_take_beam_slots_only_in_fairseq() -> None:
    """After two tokens, `3` ends and `3 4` continues. `5 6` ranks third, so it continues only under transformers' rule."""
    names = trie([3], [3, 4], [5, 6])
    table = tabulate_logits(
        {
            (0,): {3: 0.5, 5: 0.4},
            (0, 3): {EOS: 0.5, 4: 0.4},
            (0, 5): {6: 0.25},
            (0, 5, 6): {EOS: 0.99},
            (0, 3, 4): {EOS: 0.3},
        }
    )
    (by_two,), _ = search(names, 2, table=table, ranking="sum")
    (by_one,), _ = search(names, 2, table=table, ranking="sum", stopping="fairseq")
    assert leaves(by_two) == [names.find([3]), names.find([5, 6])]
    assert leaves(by_one) == [names.find([3]), names.find([3, 4])]
    assert [each.log_prob for each in by_one.hypotheses] == pytest.approx(np.log([0.25, 0.06]), abs=1e-5)
    assert [each.tokens for each in by_one.hypotheses] == [2, 3]


def test_fairseq_keeps_names_that_finish_first() -> None:
    """`3` ends first and keeps one of the two slots under fairseq's rule, although `4 5 6` and `4 5 7` both score better."""
    names = trie([3], [4, 5, 6], [4, 5, 7])
    table = tabulate_logits(
        {
            (0,): {3: 0.5, 4: 0.45},
            (0, 3): {EOS: 0.2},
            (0, 4): {5: 0.99},
            (0, 4, 5): {6: 0.5, 7: 0.49},
            (0, 4, 5, 6): {EOS: 0.99},
            (0, 4, 5, 7): {EOS: 0.99},
        }
    )
    (by_one,), _ = search(names, 2, table=table, stopping="fairseq")
    (by_two,), _ = search(names, 2, table=table)
    assert leaves(by_one) == [names.find([4, 5, 6]), names.find([3])]
    assert leaves(by_two) == [names.find([4, 5, 6]), names.find([4, 5, 7])]


def test_end_token_must_rank_within_the_width() -> None:
    """With beam width 1, the end token after `3` ranks second, below `4`, so both rules drop it."""
    names = trie([3], [3, 4])
    table = tabulate_logits({(0,): {3: 0.9}, (0, 3): {EOS: 0.4, 4: 0.5}, (0, 3, 4): {EOS: 0.01}})
    for stopping in ("transformers", "fairseq"):
        (found,), _ = search(names, 1, table=table, stopping=stopping)
        assert leaves(found) == [names.find([3, 4])]


def test_a_longer_name_can_have_the_better_mean() -> None:
    names = trie([3], [3, 4, 5])
    table = tabulate_logits({(0,): {3: 0.9}, (0, 3): {EOS: 0.45, 4: 0.4}, (0, 3, 4): {5: 0.99}, (0, 3, 4, 5): {EOS: 0.99}})
    (mean,), _ = search(names, 2, table=table, ranking="mean")
    (total,), _ = search(names, 2, table=table, ranking="sum")
    assert leaves(mean) == leaves(total)[::-1] == [names.find([3, 4, 5]), names.find([3])]


@both
@pytest.mark.parametrize("ranking", ["mean", "sum"])
@pytest.mark.parametrize("seed", range(8))
def test_large_beam_finds_every_name(stopping: Stopping, ranking: Ranking, seed: int) -> None:
    names = some_trie(seed)
    found, _ = search(names, names.node_count + 1, mentions=2, chain=seed % 3, ranking=ranking, stopping=stopping)
    for mention, decoded in enumerate(found):
        wanted = score_all_names(names, draw_logits, (mention,))
        assert len(decoded.hypotheses) == len(wanted)
        assert not decoded.is_proved
        for each in decoded.hypotheses:
            assert (each.log_prob, each.tokens) == pytest.approx(wanted[each.leaf], abs=1e-4)
        scores = [each.score(ranking) for each in decoded.hypotheses]
        assert scores == sorted(scores, reverse=True)


@both
def test_fewer_names_than_the_width(stopping: Stopping) -> None:
    names = trie([3], [3, 4], [3])  # two of the three names are equal
    (found,), _ = search(names, 5, stopping=stopping)
    assert sorted(leaves(found)) == sorted([names.find([3]), names.find([3, 4])])
    (one,), _ = search(trie([3, 4, 5]), 10, stopping=stopping)
    assert len(one.hypotheses) == 1


@both
@pytest.mark.parametrize("chain", [0, 8])
def test_finished_mentions_leave_the_batch(stopping: Stopping, chain: int) -> None:
    names = some_trie(13)
    together, session = search(names, 2, mentions=12, chain=chain, stopping=stopping)
    assert session.kept
    assert session.kept == sorted(session.kept, reverse=True)
    for mention, decoded in enumerate(together):
        alone = BeamSearch(Explorer(PathSession([[mention]]), names, [[]], widest=4), 2, stopping=stopping).run()
        assert decoded.hypotheses == alone[0].hypotheses


def test_reading_ahead_saves_passes() -> None:
    names = trie([3, 4, 5, 6, 7], [4, 4, 5, 6, 8])
    (plain,), before = search(names, 2)
    (ahead,), after = search(names, 2, chain=8)
    assert plain.hypotheses == ahead.hypotheses
    assert (len(before.passes), len(after.passes)) == (5, 1)


@both
def test_some_mentions_of_an_explorer(stopping: Stopping) -> None:
    names = some_trie(5)
    all_found, _ = search(names, 3, mentions=4, stopping=stopping)
    explorer = Explorer(PathSession([[mention] for mention in range(4)]), names, [[]] * 4, widest=6)
    some = BeamSearch(explorer, 3, stopping=stopping).run([1, 3])
    assert [each.hypotheses for each in some] == [all_found[1].hypotheses, all_found[3].hypotheses]


@both
@pytest.mark.parametrize("value", [-torch.inf, torch.inf, torch.nan])
def test_non_finite_logits_give_no_names(stopping: Stopping, value: float) -> None:
    found, session = search(some_trie(2), 3, mentions=2, table=lambda _: torch.full((9,), value), stopping=stopping)
    assert [each.hypotheses for each in found] == [(), ()]
    assert session.passes == []


@both
def test_drops_prefixes_with_nan(stopping: Stopping) -> None:
    names = trie([3, 4], [5])
    (found,), _ = search(
        names, 2, table=lambda path: torch.full((9,), torch.nan) if 3 in path else draw_logits(path), stopping=stopping
    )
    assert leaves(found) == [names.find([5])]


@pytest.mark.parametrize("seed", [0, 1, 7, 8])
def test_agrees_with_transformers_and_fairseq(seed: int) -> None:
    """Runs some of the 10,000 cases of tests/robustness/decoding/decode_parity.py, with real small models."""
    verdict = decode_parity.compare(seed)
    assert verdict.counts["mismatches"] == verdict.counts["ties"] == 0
    assert verdict.counts["cases"] == decode_parity.Group.SIZE
    assert verdict.worst < 1e-4


def test_seeds_cover_both_stopping_rules() -> None:
    rules = {decode_parity.Group.random(seed).stopping for seed in (0, 1, 7, 8)}
    assert rules == {"transformers", "fairseq"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 8])
def test_parity_check_detects_wrong_results(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = decode_parity.Group.find_names
    wrong = [
        lambda ranked: ranked[:-1],
        lambda ranked: [(leaf, score - 0.001) for leaf, score in ranked],
        lambda ranked: [(leaf + 1, score) for leaf, score in ranked],
    ]
    for change in wrong:
        monkeypatch.setattr(decode_parity.Group, "find_names", lambda *args, c=change: [c(each) for each in found(*args)])
        assert decode_parity.compare(seed).counts["mismatches"] == decode_parity.Group.SIZE
