"""Linkers: documents with mentions in, ranked candidates out. Each reads from top to bottom in one file.

May import: detect, decoding, index, encoders, trie, corpora, kb, text, store, types, errors. Linkers do not import each other.
Always true here: a candidate is a concept of the linker's own knowledge base.
"""

from onym.linkers.base import Linked, Linker

__all__ = ["Linked", "Linker"]
