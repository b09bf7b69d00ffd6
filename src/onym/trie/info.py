"""What there is to tell of a trie, or of all tries that are kept beside a knowledge base."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from onym.kb import KnowledgeBase
from onym.store.artefact import derived as beside
from onym.trie.artefact import opened
from onym.trie.derived import tries_of
from onym.trie.shape import shape_of


def info(folder: Path) -> list[dict[str, Any]]:
    """Return what can be told of the trie at `folder`, or of each trie of the knowledge base there."""
    return beside.told(folder, "trie", _info, lambda kb: tries_of(KnowledgeBase.open(kb)))


def _info(folder: Path) -> dict[str, Any]:
    trie, origin, _ = opened(folder)
    return {"folder": str(folder), "digest": trie.digest, **origin.model_dump(), **asdict(shape_of(trie))}
