"""The description of an index, or of all indexes that are kept with a knowledge base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onym.index.artefact import open_index_artefact
from onym.index.derived import find_indexes
from onym.kb import KnowledgeBase
from onym.store.artefact.derived import describe_derived


def info(folder: Path) -> list[dict[str, Any]]:
    """Describe the index at `folder`, or each index of the knowledge base there."""
    return describe_derived(folder, "index", _info, lambda kb: find_indexes(KnowledgeBase.open(kb)))


def _info(folder: Path) -> dict[str, Any]:
    _, origin, artefact = open_index_artefact(folder)
    size = sum(entry.bytes for entry in artefact.manifest.files.values())
    per_name = {"bytes_per_name": round(size / origin.names, 2)} if origin.names else {}
    return {"folder": str(folder), "digest": artefact.digest, **origin.model_dump(), "bytes": size, **per_name}
