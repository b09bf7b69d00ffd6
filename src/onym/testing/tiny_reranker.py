"""A reranker as a folder, as small as it can be: one tree, and a memory of some surfaces."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onym.rerank.memory import write_memory
from onym.rerank.trees import MEMORY, RECORD, RerankerOrigin, write_reranker
from onym.testing.tiny_trees import stump

ORIGIN = RerankerOrigin(features=("kind", "tfidf"), parts=("tfidf",))


def save_reranker(folder: Path, record: Mapping[str, Any] | None = None, meanings: Mapping[str, str] | None = None) -> Path:
    """Write a reranker that believes TF-IDF, with a record of its training, and a memory of surfaces with their concepts.

    >>> from onym.rerank.trees import open_reranker
    >>> folder = save_reranker(getfixture("tmp_path") / "model", {"made": "here"}, {"mi": "mesh:D009203"})
    >>> open_reranker(folder).memory.entries("mi")
    [('mesh:D009203', '', 1)]
    """
    own = dict(record or {})
    counts = Counter({(surface, concept_id, ""): 1 for surface, concept_id in (meanings or {}).items()})
    write_memory(counts, own.get("corpora", []), folder / MEMORY)
    write_reranker(folder, ORIGIN, stump(feature=1), None, own)
    (folder / RECORD).write_text(json.dumps(own))
    return folder
