"""The index: vectors in, the nearest names out. FAISS behind one small class, on files that are checked before it reads them.

Always true here: a result is the id of a name of the knowledge base.
"""

from onym.index.build import build_index, open_derived_index
from onym.index.kinds import KINDS
from onym.index.search import Index, open_index

__all__ = ["KINDS", "Index", "build_index", "open_derived_index", "open_index"]
