"""The description of a trie, or of all tries that are kept with a knowledge base."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onym.kb import KnowledgeBase
from onym.store.derived import describe_derived
from onym.trie.artefact import find_tries, open_trie_artefact
from onym.trie.packed import PackedTrie

_BOUNDS = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Shape:
    """What `onym trie info` tells; the token that ends a name is not counted."""

    names: int
    nodes: int
    bytes: int
    bytes_per_node: float
    max_name_tokens: int
    widest_node: int
    only_children: int
    nodes_by_depth: tuple[int, ...]
    names_by_tokens: dict[str, int]


def shape_of(trie: PackedTrie) -> Shape:
    """Return the shape of a trie.

    >>> from onym.store.arrays import Ragged
    >>> shape = shape_of(PackedTrie.build(Ragged(np.array([0, 1, 4]), np.array([7, 7, 8, 9])), eos=2, vocabulary=10))
    >>> shape.nodes_by_depth, shape.names_by_tokens, shape.only_children
    ((1, 1, 2, 1, 1), {'0-2': 1, '3-4': 1}, 3)
    """
    nodes_by_depth, names_by_depth = _by_depth(trie)
    widths = np.diff(trie.first)
    return Shape(
        names=len(trie.names),
        nodes=trie.node_count,
        bytes=trie.nbytes,
        bytes_per_node=round(trie.nbytes / trie.node_count, 2),
        max_name_tokens=max(0, int(trie.height[0]) - 1),
        widest_node=int(widths.max()),
        only_children=int((widths == 1).sum()),
        nodes_by_depth=tuple(nodes_by_depth),
        names_by_tokens=_in_short(names_by_depth),
    )


def _by_depth(trie: PackedTrie) -> tuple[list[int], list[int]]:
    """Return how many nodes there are at each depth, and how many names end there."""
    nodes, names = [], []
    start, end = 0, 1
    while start < end:
        nodes.append(end - start)
        is_leaf = trie.first[start:end] == trie.first[start + 1 : end + 1]
        names.append(int((trie.high[start:end] - trie.low[start:end])[is_leaf].sum()))
        start, end = int(trie.first[start]), int(trie.first[end])
    return nodes, names


def _in_short(names_by_depth: list[int]) -> dict[str, int]:
    """Return how many names have so many tokens: a name that ends at depth *d* has one token less than that."""
    found, start = {}, 0
    for end in (*_BOUNDS, len(names_by_depth)):
        if count := sum(names_by_depth[start + 1 : end + 2]):
            found[f"{start}-{end}" if end in _BOUNDS else f"{start}-"] = count
        start = end + 1
    return found


def info(folder: Path) -> list[dict[str, Any]]:
    """Describe the trie at `folder`, or each trie of the knowledge base there."""
    return describe_derived(folder, "trie", _info, lambda kb: find_tries(KnowledgeBase.open(kb)))


def _info(folder: Path) -> dict[str, Any]:
    trie, origin, _ = open_trie_artefact(folder, verify="full")  # every node is looked at
    return {"folder": str(folder), "digest": trie.digest, **origin.model_dump(), **asdict(shape_of(trie))}
