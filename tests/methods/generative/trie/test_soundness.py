from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import IntegrityError
from onym.methods.generative.trie.guard import require_sound
from onym.methods.generative.trie.packed import ROOT, Columns, PackedTrie
from tests.methods.generative.trie.letters import EOS, SEQUENCES, VOCABULARY, to_ragged

NAMES = [[3, 4], [3, 5], [3], [3], [4], []]


def change_columns(trie: PackedTrie, **columns: npt.NDArray[Any]) -> PackedTrie:
    return PackedTrie(trie.columns._replace(**columns), trie.eos, trie.vocabulary)


def is_sound(trie: PackedTrie, names: int) -> bool:
    try:
        require_sound(trie, names, "here")
    except IntegrityError as e:
        return (e.code, e.where) != ("artefact-corrupt", "here")
    return True


@given(SEQUENCES)
def test_accepts_built_tries(names: list[list[int]]) -> None:
    assert is_sound(PackedTrie.build(to_ragged(names), EOS, VOCABULARY), len(names))


@pytest.mark.parametrize("column", Columns._fields)
def test_detects_changed_numbers(column: str) -> None:
    """Change each number of each column by one: only changes of name ids and of the root's unused token are accepted."""
    trie = PackedTrie.build(to_ragged(NAMES), EOS, VOCABULARY)
    values = getattr(trie.columns, column)
    for row in range(len(values)):
        for change in (1, -1):
            other = values.copy()
            other[row] = (int(other[row]) + change) % (np.iinfo(values.dtype).max + 1)
            free = (column == "tokens" and row == ROOT and other[row] < VOCABULARY) or (
                column == "names" and other[row] < len(NAMES)
            )
            sorted_still = column == "tokens" and _is_still_a_trie(trie, other)
            assert is_sound(change_columns(trie, **{column: other}), len(NAMES)) == (free or sorted_still)


def _is_still_a_trie(trie: PackedTrie, tokens: npt.NDArray[Any]) -> bool:
    """Return whether the trie is valid with other tokens: siblings are still sorted and distinct, leaves have the end token."""
    if int(tokens.max()) >= VOCABULARY:
        return False
    if not np.array_equal(trie.tokens[1:] == EOS, tokens[1:] == EOS):
        return False
    siblings = [tokens[int(a) : int(b)].tolist() for a, b in zip(trie.first[:-1], trie.first[1:], strict=True)]
    return all(each == sorted(set(each)) for each in siblings)


def test_rejects_wrong_lengths_and_types() -> None:
    trie = PackedTrie.build(to_ragged(NAMES), EOS, VOCABULARY)
    for name, column in trie.columns._asdict().items():
        assert not is_sound(change_columns(trie, **{name: column[:-1]}), len(NAMES))
        assert not is_sound(change_columns(trie, **{name: column[:0]}), len(NAMES))
        assert not is_sound(change_columns(trie, **{name: column.astype(np.uint64)}), len(NAMES))
    assert not is_sound(trie, len(NAMES) + 1)
    assert not is_sound(PackedTrie(trie.columns, VOCABULARY, VOCABULARY), len(NAMES))
    assert not is_sound(PackedTrie(trie.columns, EOS, 70_000), len(NAMES))


def test_single_root_has_no_names() -> None:
    trie = PackedTrie.build(to_ragged([]), EOS, VOCABULARY)
    assert not is_sound(change_columns(trie, names=np.zeros(1, dtype=np.uint32), high=np.ones(1, dtype=np.uint32)), 1)


def test_rejects_node_that_is_its_own_child() -> None:
    trie = PackedTrie.build(to_ragged([[3]]), EOS, VOCABULARY)
    assert not is_sound(change_columns(trie, first=np.array([1, 1, 2, 3], dtype=np.uint32)), 1)


@given(st.data())
def test_check_handles_random_columns(data: st.DataObject) -> None:
    def column(kind: type[Any], length: int) -> npt.NDArray[Any]:
        return np.array(data.draw(st.lists(st.integers(0, 7), min_size=length, max_size=length)), dtype=kind)

    count = data.draw(st.integers(1, 4))
    names = data.draw(st.integers(0, 3))
    columns = Columns(
        tokens=column(np.uint16, count),
        first=column(np.uint32, count + 1),
        low=column(np.uint32, count),
        high=column(np.uint32, count),
        height=column(np.uint16, count),
        names=column(np.uint32, names),
    )
    trie = PackedTrie(columns, EOS, VOCABULARY)
    if is_sound(trie, names):
        assert sum(len(trie.names_at(node)) for node in range(1, count)) == names
