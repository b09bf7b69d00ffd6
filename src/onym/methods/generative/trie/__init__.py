"""A packed prefix tree (trie) of tokenised names for constrained decoding: built with NumPy, memory-mapped from disk.

Does not need PyTorch or transformers, and does not create a Python object per node.
"""

from onym.methods.generative.trie.artefact import Origin, build_trie, open_derived_trie, open_trie
from onym.methods.generative.trie.packed import PackedTrie, Restriction

__all__ = ["Origin", "PackedTrie", "Restriction", "build_trie", "open_derived_trie", "open_trie"]
