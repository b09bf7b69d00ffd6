"""An index that is kept nowhere: of a model that is still learning, or of some names alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onym.index.artefact import IndexOrigin
from onym.index.kinds import kind_named
from onym.index.library import faiss
from onym.index.parts import Part
from onym.index.search import Index
from onym.index.source import VectorSource
from onym.kb import KnowledgeBase

_KIND = "flat"


def index_in_memory(kb: KnowledgeBase, encoder: VectorSource, names: npt.NDArray[np.int64] | None = None) -> Index:
    """Return an exact index of a knowledge base's names, or of those with these ids. Others are never found by it."""
    ids = np.arange(len(kb.names)) if names is None else names
    index = faiss().IndexIDMap(kind_named(_KIND).make(encoder.width, len(ids)))
    if len(ids):
        index.add_with_ids(encoder.encode([kb.names[name] for name in ids.tolist()]), ids)
    return Index([Part(0, len(kb.names), index)], IndexOrigin.of(kb, encoder, _KIND), digest="")
