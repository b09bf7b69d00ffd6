from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError, IntegrityError, OnymError
from onym.methods.generative.trie.packed import ROOT, Columns, PackedTrie
from tests.methods.generative.trie.letters import EOS, SEQUENCES, VOCABULARY, DictTrie, to_ragged


def pack_names(names: list[list[int]]) -> PackedTrie:
    return PackedTrie.build(to_ragged(names), EOS, VOCABULARY)


def require_same(trie: PackedTrie, node: int, plain: dict[Any, Any]) -> None:
    """Traverse both tries in parallel and compare them."""
    tokens, nodes = trie.children(node)
    if "names" in plain:
        assert not len(tokens)
        assert trie.names_at(node).tolist() == plain["names"]
        return
    assert tokens.tolist() == sorted(plain)
    assert trie.names_at(node).tolist() == [] or node == ROOT
    assert [trie.child(node, token) for token in range(VOCABULARY)] == [
        int(nodes[tokens.tolist().index(token)]) if token in plain else -1 for token in range(VOCABULARY)
    ]
    for token, child in zip(tokens, nodes, strict=True):
        require_same(trie, int(child), plain[int(token)])


@given(SEQUENCES)
def test_agrees_with_the_reference_trie(names: list[list[int]]) -> None:
    require_same(pack_names(names), ROOT, DictTrie(names).root)


@given(SEQUENCES, st.lists(st.sampled_from([0, 1, 3, 4, 5]), max_size=6))
def test_find(names: list[list[int]], other: list[int]) -> None:
    trie = pack_names(names)
    for sequence in [*names, other]:
        leaf = trie.find(sequence)
        found = trie.names_at(leaf).tolist() if leaf >= 0 else []
        assert found == [name for name, tokens in enumerate(names) if tokens == sequence]


@given(SEQUENCES)
def test_batch_agrees_with_single_nodes(names: list[list[int]]) -> None:
    trie = pack_names(names)
    nodes = np.arange(trie.node_count)[::-1]
    rows, tokens, children = trie.children_of(nodes)
    one_by_one = [trie.children(int(node)) for node in nodes]
    assert tokens.tolist() == [token for each, _ in one_by_one for token in each.tolist()]
    assert children.tolist() == [child for _, each in one_by_one for child in each.tolist()]
    assert rows.tolist() == [row for row, (each, _) in enumerate(one_by_one) for _ in each]
    pairs = [(int(node), token) for node in nodes for token in range(VOCABULARY)]
    stepped = trie.step(np.array([node for node, _ in pairs]), np.array([token for _, token in pairs]))
    assert stepped.tolist() == [trie.child(node, token) for node, token in pairs]
    assert trie.is_leaf(nodes).tolist() == [not len(each) for each, _ in one_by_one]


@given(SEQUENCES)
def test_names_below_share_the_prefix(names: list[list[int]]) -> None:
    trie = pack_names(names)
    nodes: dict[tuple[int, ...], int] = {(): ROOT}
    for sequence in names:
        for end in range(len(sequence)):
            nodes[tuple(sequence[: end + 1])] = trie.child(nodes[tuple(sequence[:end])], sequence[end])
    for prefix, node in nodes.items():
        below = [name for name, tokens in enumerate(names) if tuple(tokens[: len(prefix)]) == prefix]
        assert sorted(trie.names_below(node).tolist()) == below
        assert trie.height[node] == max((len(names[name]) - len(prefix) + 1 for name in below), default=0)


def test_name_that_is_a_prefix_of_another() -> None:
    trie = pack_names([[3, 4], [3]])
    tokens, nodes = trie.children(trie.child(ROOT, 3))
    assert tokens.tolist() == [EOS, 4]
    assert trie.is_leaf(nodes).tolist() == [True, False]
    assert trie.names_at(int(nodes[0])).tolist() == [1]


def test_one_name_is_a_chain() -> None:
    trie = pack_names([[3, 4, 5]])
    assert trie.chain(ROOT).tolist() == [1, 2, 3, 4]
    assert trie.names_at(4).tolist() == [0]
    assert trie.chain(4).tolist() == []


def test_chain_ends_before_a_branch() -> None:
    trie = pack_names([[3, 4, 5], [3, 4]])
    assert trie.tokens[trie.chain(ROOT)].tolist() == [3, 4]
    assert trie.chain(int(trie.chain(ROOT)[-1])).tolist() == []


def test_a_name_without_tokens() -> None:
    trie = pack_names([[], [3]])
    assert trie.names_at(trie.find([])).tolist() == [0]
    assert trie.children(ROOT)[0].tolist() == [EOS, 3]


def test_an_empty_trie_finds_nothing() -> None:
    trie = pack_names([])
    assert trie.find([]) == -1
    assert trie.child(ROOT, EOS) == -1
    assert trie.names_below(ROOT).tolist() == []
    assert trie.step(np.array([ROOT]), np.array([EOS])).tolist() == [-1]


def test_equal_names_share_a_leaf() -> None:
    trie = PackedTrie.build(to_ragged([[3], [4], [3]]), EOS, VOCABULARY, np.array([30, 40, 31]))
    assert trie.names_at(trie.find([3])).tolist() == [30, 31]
    assert trie.names_below(ROOT).tolist() == [30, 31, 40]


def test_rejects_too_few_ids() -> None:
    with pytest.raises(InputError) as caught:
        PackedTrie.build(to_ragged([[3], [4]]), EOS, VOCABULARY, np.array([1]))
    assert caught.value.code == "trie-tokens"


@pytest.mark.parametrize("token", [-1, 6, 70_000, 2**40])
def test_unknown_token_leads_nowhere(token: int) -> None:
    trie = pack_names([[3]])
    assert trie.child(ROOT, token) == -1
    assert trie.find([token]) == -1
    assert trie.step(np.array([ROOT]), np.array([token])).tolist() == [-1]


def test_leaf_has_no_children() -> None:
    trie = pack_names([[3]])
    assert trie.find([3, EOS]) == -1


def test_sizes() -> None:
    trie = pack_names([[3], [4, 5]])
    assert (trie.node_count, len(trie.names)) == (6, 2)
    assert trie.nbytes == 6 * 16 + 4 + 2 * 4
    assert repr(trie) == "<PackedTrie in memory: 2 names, 6 nodes>"


def damage_trie(column: str, row: int, value: int) -> PackedTrie:
    """Return a trie with one corrupt number."""
    sound = pack_names([[5, 4], [5, 3], [1], [1, 0, 0]])
    columns = sound.columns._asdict()
    columns[column] = columns[column].copy()
    columns[column][row] = value
    return PackedTrie(Columns(**columns), EOS, VOCABULARY, kb_names=4)


def use(trie: PackedTrie) -> None:
    nodes = np.zeros(1, dtype=np.int64)
    while len(nodes):
        _, _, children = trie.children_of(nodes)
        for node in children.tolist():
            trie.children(node)
            trie.chain(node)
            trie.names_at(node)
        nodes = children
    trie.restriction(np.ones(4, dtype=bool)).allows(np.arange(trie.node_count))


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [
        ("first", 0, 0), ("first", 1, 2**31), ("first", 2, 0), ("first", 3, 1), ("first", -1, 2**32 - 1),
        ("tokens", 1, VOCABULARY), ("low", 3, 2**31), ("high", 3, 2**31), ("names", 0, 4), ("names", 3, 2**31),
    ],
)  # fmt: skip
def test_corruption_raises_and_traversal_terminates(column: str, row: int, value: int) -> None:
    with pytest.raises(OnymError):
        use(damage_trie(column, row, value))


@pytest.mark.parametrize("value", [0, 1, 3, 7, 11, 2**16, 2**32 - 1])
def test_traversal_terminates_for_any_children(value: int) -> None:
    for row in range(11):
        with suppress(IntegrityError):
            use(damage_trie("first", row, value))


def test_batch_checks_agree_with_single_checks() -> None:
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        damage_trie("first", 2, 0).children_of(np.array([1]))
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        damage_trie("first", 2, 0).step(np.array([1]), np.array([0]))
