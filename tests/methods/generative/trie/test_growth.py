from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from onym.errors import InputError, LimitError
from onym.methods.generative.trie import packed as growth
from onym.methods.generative.trie.packed import MAX_NAME_TOKENS, grow
from tests.methods.generative.trie.letters import EOS, SEQUENCES, VOCABULARY, DictTrie, to_ragged


def breadth_first(names: list[list[int]]) -> list[tuple[int, int, int, int, int]]:
    """Return (token, children, low, high, height) of every node of the reference trie, in breadth-first order."""
    found, queue = [], [(0, DictTrie(names).root, 0)]
    while queue:
        token, node, low = queue.pop(0)
        if "names" in node:
            found.append((token, 0, low, low + len(node["names"]), 0))
            continue
        found.append((token, len(node), low, low + _count(node), _height(node)))
        for child in sorted(node):
            queue.append((child, node[child], low))
            low += _count(node[child])
    return found


def _count(node: dict[Any, Any]) -> int:
    return len(node["names"]) if "names" in node else sum(_count(child) for child in node.values())


def _height(node: dict[Any, Any]) -> int:
    return 1 + max(_height(child) for child in node.values()) if node and "names" not in node else 0


@given(SEQUENCES)
def test_columns_agree_with_the_reference_trie(names: list[list[int]]) -> None:
    columns = grow(to_ragged(names), EOS, VOCABULARY)
    widths = np.diff(columns.first)
    found = zip(columns.tokens, widths, columns.low, columns.high, columns.height, strict=True)
    assert [tuple(int(each) for each in node) for node in found] == breadth_first(names)
    assert int(columns.first[0]) == 1


@given(SEQUENCES)
def test_names_are_sorted_by_tokens_then_ids(names: list[list[int]]) -> None:
    order = sorted(range(len(names)), key=lambda name: ([*names[name], EOS], name))
    assert grow(to_ragged(names), EOS, VOCABULARY).names.tolist() == order


def test_uses_the_smallest_dtypes() -> None:
    columns = grow(to_ragged([[3], [4]]), EOS, VOCABULARY)
    assert [str(column.dtype) for column in columns] == ["uint16", "uint32", "uint32", "uint32", "uint16", "uint32"]
    assert grow(to_ragged([[70_000]]), EOS, 85_401).tokens.tolist() == [0, 70_000, EOS]


def test_trie_without_names_is_only_a_root() -> None:
    columns = grow(to_ragged([]), EOS, VOCABULARY)
    assert [column.tolist() for column in columns] == [[0], [1, 1], [0], [0], [0], []]


@pytest.mark.slow
def test_a_name_of_the_maximal_length_and_one_token_more() -> None:
    columns = grow(to_ragged([[3] * MAX_NAME_TOKENS]), EOS, VOCABULARY)
    assert int(columns.height[0]) == MAX_NAME_TOKENS + 1
    assert len(columns.tokens) == MAX_NAME_TOKENS + 2
    with pytest.raises(LimitError) as caught:
        grow(to_ragged([[3], [3] * (MAX_NAME_TOKENS + 1)]), EOS, VOCABULARY)
    assert (caught.value.code, caught.value.where) == ("limit-trie", "name 1")


def test_too_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "MAX_NODES", 6)
    assert len(grow(to_ragged([[3, 4], [5]]), EOS, VOCABULARY).tokens) == 6
    with pytest.raises(LimitError) as caught:
        grow(to_ragged([[3, 4], [5, 5]]), EOS, VOCABULARY)
    assert caught.value.code == "limit-trie"


@pytest.mark.parametrize(
    ("names", "eos", "vocabulary", "where"),
    [
        ([[3], [3, 6]], 2, 6, ""),
        ([[-1]], 2, 6, ""),
        ([[3]], 6, 6, ""),
        ([[3]], -1, 6, ""),
        ([[3, 4], [5, 2, 4]], 2, 6, "name 1"),
        ([[], [2]], 2, 6, "name 1"),
    ],
)
def test_rejects_invalid_tokens(names: list[list[int]], eos: int, vocabulary: int, where: str) -> None:
    with pytest.raises(InputError) as caught:
        grow(to_ragged(names), eos, vocabulary)
    assert (caught.value.code, caught.value.where) == ("trie-tokens", where)
