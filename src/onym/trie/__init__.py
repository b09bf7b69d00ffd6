"""A packed prefix tree (trie) of tokenised names for constrained decoding: built with NumPy, memory-mapped from disk.

Needs no model library, and creates no Python object per node.
"""

from onym.trie.artefact import Origin, build_trie, open_derived_trie, open_trie
from onym.trie.packed import PackedTrie, Restriction

__all__ = ["Origin", "PackedTrie", "Restriction", "build_trie", "open_derived_trie", "open_trie"]
