"""A letter tokenizer, a reference trie of dicts, and strategies for token lists."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from onym.store.arrays import Ragged

EOS, VOCABULARY = 2, 6
SEQUENCES = st.lists(st.lists(st.sampled_from([0, 1, 3, 4, 5]), max_size=6), max_size=30)


class Letters:
    """A tokenizer that splits text into letters."""

    def __init__(self, digest: str = "letters", vocabulary: int = 256, eos: int = 2) -> None:
        self.digest, self.vocabulary, self.eos = digest, vocabulary, eos
        self.batches = 0

    def ids_of(self, texts: Sequence[str]) -> Ragged:
        self.batches += 1
        return to_ragged([[ord(letter) for letter in text] for text in texts])


class Plain:
    """A template that leaves names unchanged."""

    def __init__(self, name: str = "plain") -> None:
        self.name = name

    def name_text(self, name: str) -> str:
        return name


class DictTrie:
    """A simple reference trie: one dict per node, with the names that end there."""

    def __init__(self, names: list[list[int]]) -> None:
        self.root: dict[Any, Any] = {}
        for number, tokens in enumerate(names):
            node = self.root
            for token in tokens:
                node = node.setdefault(token, {})
            node.setdefault(EOS, {"names": []})["names"].append(number)

    def without(self, unwanted: set[int]) -> DictTrie:
        """Return a copy without the unwanted names; the other names keep their numbers."""
        pruned = copy.deepcopy(self)
        _prune(pruned.root, unwanted)
        return pruned


def _prune(node: dict[Any, Any], unwanted: set[int]) -> bool:
    if "names" in node:
        node["names"] = [name for name in node["names"] if name not in unwanted]
        return bool(node["names"])
    for token in list(node):
        if not _prune(node[token], unwanted):
            del node[token]
    return bool(node)


def to_ragged(lists: list[list[int]]) -> Ragged:
    offsets = np.concatenate(([0], np.cumsum([len(each) for each in lists], dtype=np.int64))).astype(np.int64)
    return Ragged(offsets, np.array([token for each in lists for token in each], dtype=np.int32))
