from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError
from onym.methods.generative.trie.packed import ROOT, PackedTrie, Restriction
from tests.methods.generative.trie.letters import EOS, SEQUENCES, VOCABULARY, DictTrie, to_ragged


def require_same(trie: PackedTrie, seen: Restriction, node: int, plain: dict[Any, Any]) -> None:
    """Compare the allowed nodes with a reference trie of only the wanted names."""
    if "names" in plain:
        assert seen.names_at(node).tolist() == plain["names"]
        return
    tokens, nodes = trie.children(node)
    is_allowed = seen.allows(nodes)
    assert tokens[is_allowed].tolist() == sorted(plain)
    for token, child in zip(tokens[is_allowed], nodes[is_allowed], strict=True):
        require_same(trie, seen, int(child), plain[int(token)])


@given(SEQUENCES, st.data())
def test_agrees_with_a_trie_of_the_wanted_names(names: list[list[int]], data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.integers(0, max(0, len(names) - 1))))
    trie = PackedTrie.build(to_ragged(names), EOS, VOCABULARY)
    seen = trie.restriction(np.array([name in wanted for name in range(len(names))], dtype=bool))
    require_same(trie, seen, ROOT, DictTrie(names).without(set(range(len(names))) - wanted).root)
    assert sorted(seen.names_below(ROOT).tolist()) == [name for name in range(len(names)) if name in wanted]
    assert len(seen) == len(seen.names_below(ROOT))


@pytest.mark.parametrize("is_wanted", [True, False])
def test_all_or_no_names_wanted(is_wanted: bool) -> None:
    trie = PackedTrie.build(to_ragged([[3], [3, 4], [3]]), EOS, VOCABULARY)
    seen = trie.restriction(np.full(3, is_wanted))
    assert seen.allows(np.arange(trie.node_count)).tolist() == [is_wanted] * trie.node_count
    assert seen.names_at(trie.find([3])).tolist() == ([0, 2] if is_wanted else [])
    assert seen.names_at(ROOT).tolist() == []


def test_one_of_two_equal_names() -> None:
    trie = PackedTrie.build(to_ragged([[3], [3]]), EOS, VOCABULARY)
    seen = trie.restriction(np.array([False, True]))
    assert seen.names_at(trie.find([3])).tolist() == [1]


def test_rejects_mask_of_wrong_length_or_type() -> None:
    trie = PackedTrie.build(to_ragged([[3], [4]]), EOS, VOCABULARY)
    for is_wanted in (np.array([True]), np.array([0, 1])):
        with pytest.raises(InputError) as caught:
            trie.restriction(is_wanted)
        assert caught.value.code == "trie-restriction"
