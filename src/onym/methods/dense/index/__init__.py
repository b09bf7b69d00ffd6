"""Nearest-neighbour index of name embeddings: a small wrapper around FAISS that validates files before FAISS reads them.

Every result is the id of a name of the knowledge base.
"""

from onym.methods.dense.index.build import build_index, open_derived_index
from onym.methods.dense.index.kinds import KINDS
from onym.methods.dense.index.search import Index, open_index

__all__ = ["KINDS", "Index", "build_index", "open_derived_index", "open_index"]
