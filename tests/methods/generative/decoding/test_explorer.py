"""Tests of the explorer: children of expanded nodes, with the model's log-probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from onym.methods.generative.decoding.explorer import Explorer, NodeRequest
from onym.methods.generative.trie.packed import ROOT, PackedTrie
from tests.methods.generative.decoding.paths import VOCABULARY, Path, PathSession, Table, draw_logits, some_trie, trie

NAMES = trie([3, 4], [3, 5], [6], [7, 3, 4, 5, 8])


def explorer(names: PackedTrie, mentions: int = 1, table: Table = draw_logits, **more: Any) -> tuple[Explorer, PathSession]:
    session = PathSession([[mention] for mention in range(mentions)], table)
    return Explorer(session, names, [[]] * mentions, **more), session


def path_of(names: PackedTrie, *tokens: int) -> int:
    node = ROOT
    for token in tokens:
        node = names.child(node, token)
    return node


def require_right(found: Explorer, mention: int, node: int, path: Path) -> None:
    known = found.known[mention][node]
    tokens = found.trie.tokens[known.children].astype(np.int64)
    assert np.allclose(known.log_probs, draw_logits((mention, *path)).log_softmax(0).numpy()[tokens], atol=1e-5)


def test_the_root_is_known_from_the_beginning() -> None:
    found, _ = explorer(NAMES, mentions=3)
    assert [list(known) for known in found.known] == [[ROOT]] * 3
    assert found.expansions.tolist() == [1, 1, 1]
    for mention in range(3):
        assert found.known[mention][ROOT].children.tolist() == NAMES.children(ROOT)[1].tolist()
        require_right(found, mention, ROOT, ())


def test_prompt_changes_the_scores() -> None:
    found = Explorer(PathSession([[1], [1]]), NAMES, [[5], []])
    tokens = NAMES.children(ROOT)[0].astype(np.int64)
    assert np.allclose(found.known[0][ROOT].log_probs, draw_logits((1, 5)).log_softmax(0).numpy()[tokens], atol=1e-5)
    assert np.allclose(found.known[1][ROOT].log_probs, draw_logits((1,)).log_softmax(0).numpy()[tokens], atol=1e-5)


def test_nodes_are_queried_together() -> None:
    found, session = explorer(NAMES, mentions=2)
    three, six = path_of(NAMES, 3), path_of(NAMES, 6)
    found.ask([NodeRequest(0, three, ROOT), NodeRequest(0, six, ROOT), NodeRequest(1, three, ROOT)])
    assert session.passes == [3]
    assert found.expansions.tolist() == [3, 2]
    for mention, node, path in ((0, three, (3,)), (0, six, (6,)), (1, three, (3,))):
        assert found.known[mention][node].children.tolist() == NAMES.children(node)[1].tolist()
        require_right(found, mention, node, path)


def test_nothing_to_ask() -> None:
    found, session = explorer(NAMES)
    found.ask([])
    assert session.passes == []


@pytest.mark.parametrize("chain", [0, 1, 2, 8])
def test_reads_unbranched_paths_ahead(chain: int) -> None:
    found, session = explorer(NAMES, mentions=2, chain=chain)
    path = (7, 3, 4, 5, 8)
    found.ask([NodeRequest(mention, path_of(NAMES, 7), ROOT) for mention in range(2)])
    read = 1 + min(chain, 4)
    assert session.passes == [2 * read]
    for mention in range(2):
        assert len(found.known[mention]) == 1 + read
        for end in range(1, 1 + read):
            require_right(found, mention, path_of(NAMES, *path[:end]), path[:end])
    assert found.expansions.tolist() == [1 + read] * 2


def test_reading_ahead_stops_at_branches_and_ends() -> None:
    found, _ = explorer(NAMES, chain=8)
    found.ask([NodeRequest(0, path_of(NAMES, 3), ROOT), NodeRequest(0, path_of(NAMES, 6), ROOT)])
    assert set(found.known[0]) == {ROOT, path_of(NAMES, 3), path_of(NAMES, 6)}


@pytest.mark.parametrize("widest", [1, 2, 3])
def test_only_the_best_children_are_kept(widest: int) -> None:
    whole_explorer, _ = explorer(NAMES)
    found, _ = explorer(NAMES, widest=widest)
    known, whole = found.known[0][ROOT], whole_explorer.known[0][ROOT]
    assert sorted(known.log_probs.tolist()) == sorted(whole.log_probs.tolist())[-widest:]
    require_right(found, 0, ROOT, ())


def test_a_restriction_hides_children() -> None:
    is_wanted = np.array([False, True, False, False])
    found, _ = explorer(NAMES, restriction=NAMES.restriction(is_wanted))
    three = path_of(NAMES, 3)
    assert found.known[0][ROOT].children.tolist() == [three]
    found.ask([NodeRequest(0, three, ROOT)])
    assert found.known[0][three].children.tolist() == [path_of(NAMES, 3, 5)]
    # log-probabilities are normalised over the whole vocabulary, not only over the allowed tokens
    require_right(found, 0, three, (3,))


def test_kept_mentions_keep_their_numbers() -> None:
    found, session = explorer(NAMES, mentions=4)
    three = path_of(NAMES, 3)
    found.ask([NodeRequest(mention, three, ROOT) for mention in range(4)])
    found.keep([1, 3])
    found.ask([NodeRequest(1, path_of(NAMES, 3, 4), three), NodeRequest(3, path_of(NAMES, 3, 5), three)])
    found.keep([3])
    found.ask([NodeRequest(3, path_of(NAMES, 6), ROOT)])
    assert session.kept == [2, 1]
    require_right(found, 1, path_of(NAMES, 3, 4), (3, 4))
    require_right(found, 3, path_of(NAMES, 3, 5), (3, 5))
    require_right(found, 3, path_of(NAMES, 6), (6,))
    require_right(found, 0, three, (3,))  # nodes that were expanded before are still available


@pytest.mark.parametrize("value", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize("index", [3, 6, slice(None)])
def test_non_finite_logits_become_minus_infinity(value: float, index: Any) -> None:
    def break_logits(path: Path) -> torch.Tensor:
        logits = draw_logits(path)
        logits[index] = value
        return logits

    found, _ = explorer(NAMES, table=break_logits)
    log_probs = found.known[0][ROOT].log_probs
    assert not np.isnan(log_probs).any()
    assert bool((log_probs <= 0).all())
    tokens = NAMES.children(ROOT)[0].tolist()
    if isinstance(index, int):
        assert log_probs[tokens.index(index)] == -np.inf
        assert np.isfinite(log_probs).any() == (value == -torch.inf)
    else:
        assert not np.isfinite(log_probs).any()


@pytest.mark.parametrize("scale", [1e30, 3e38])
def test_huge_logits_do_not_overflow(scale: float) -> None:
    found, _ = explorer(NAMES, table=lambda path: draw_logits(path).sign() * scale)
    log_probs = found.known[0][ROOT].log_probs
    assert not np.isnan(log_probs).any()
    assert np.isfinite(log_probs[np.isfinite(log_probs)] * 1000).all()


@pytest.mark.parametrize("seed", range(5))
def test_any_trie(seed: int) -> None:
    names = some_trie(seed)
    found, _ = explorer(names, mentions=2, chain=seed % 3)
    waiting: list[tuple[int, Path]] = [(ROOT, ())]
    while waiting:
        node, path = waiting.pop(0)
        for mention in range(2):
            require_right(found, mention, node, path)
        tokens, nodes = names.children(node)
        onward = [
            (int(child), (*path, int(token))) for token, child in zip(tokens, nodes, strict=True) if not names.is_leaf(child)
        ]
        found.ask([NodeRequest(m, child, node) for m in range(2) for child, _ in onward if child not in found.known[m]])
        waiting += onward
    assert found.expansions.tolist() == [sum(not names.is_leaf(node) for node in range(names.node_count))] * 2
    assert names.vocabulary == VOCABULARY
