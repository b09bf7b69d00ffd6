"""What there is to tell of an index, or of all indexes that are kept beside a knowledge base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onym.index.artefact import open_file
from onym.index.derived import indexes_of
from onym.kb import KnowledgeBase
from onym.store.artefact import derived as beside


def info(folder: Path) -> list[dict[str, Any]]:
    """Return what can be told of the index at `folder`, or of each index of the knowledge base there."""
    return beside.told(folder, "index", _info, lambda kb: indexes_of(KnowledgeBase.open(kb)))


def _info(folder: Path) -> dict[str, Any]:
    _, origin, artefact = open_file(folder)
    size = sum(entry.bytes for entry in artefact.manifest.files.values())
    per_name = {"bytes_per_name": round(size / origin.names, 2)} if origin.names else {}
    return {"folder": str(folder), "digest": artefact.digest, **origin.model_dump(), "bytes": size, **per_name}
