from __future__ import annotations

from onym.methods.generative.trie.artefact import shape_of
from onym.methods.generative.trie.packed import PackedTrie
from tests.methods.generative.trie.letters import EOS, VOCABULARY, to_ragged


def test_the_shape_of_a_small_trie() -> None:
    shape = shape_of(PackedTrie.build(to_ragged([[], [3], [3], [3, 4], [4] * 9]), EOS, VOCABULARY))
    assert (shape.names, shape.nodes, shape.max_name_tokens, shape.widest_node) == (5, 16, 9, 3)
    assert shape.nodes_by_depth == (1, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1)
    assert shape.names_by_tokens == {"0-2": 4, "9-16": 1}
    assert shape.only_children == 10
    assert shape.bytes == 16 * 16 + 4 + 5 * 4
    assert shape.bytes_per_node == round(shape.bytes / 16, 2)


def test_very_long_names_are_one_group() -> None:
    shape = shape_of(PackedTrie.build(to_ragged([[3] * 64, [3] * 65, [3] * 900]), EOS, VOCABULARY))
    assert shape.names_by_tokens == {"33-64": 1, "65-": 2}
    assert shape.max_name_tokens == 900


def test_an_empty_trie() -> None:
    shape = shape_of(PackedTrie.build(to_ragged([]), EOS, VOCABULARY))
    assert (shape.names, shape.nodes, shape.max_name_tokens, shape.names_by_tokens) == (0, 1, 0, {})
