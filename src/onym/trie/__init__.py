"""The packed prefix tree over tokenised names: built with NumPy, mapped from disk, shared by processes, walked by a decoder.

Always true here: no model library is needed, and no object is made per node.
"""

from onym.trie.artefact import Origin, build_trie, open_derived_trie, open_trie
from onym.trie.packed import PackedTrie, Restriction

__all__ = ["Origin", "PackedTrie", "Restriction", "build_trie", "open_derived_trie", "open_trie"]
