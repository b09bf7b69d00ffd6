"""What there is to tell of a trie, or of all tries that are kept beside a knowledge base."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.trie.artefact import opened
from onym.trie.beside import tries_of
from onym.trie.shape import shape_of


def info(folder: Path) -> list[dict[str, Any]]:
    """Return what can be told of the trie at `folder`, or of each trie of the knowledge base there."""
    try:
        return [_info(folder)]
    except IntegrityError as e:
        if e.code != "artefact-kind":
            raise
    kb = KnowledgeBase.open(folder)
    found = [_info(place) for place in tries_of(kb)]
    if not found:
        fix = "build one with onym trie build"
        raise IntegrityError("artefact-missing", "no trie is kept beside the knowledge base", where=str(folder), fix=fix)
    return found


def _info(folder: Path) -> dict[str, Any]:
    trie, origin, _ = opened(folder)
    return {"folder": str(folder), "digest": trie.digest, **origin.model_dump(), **asdict(shape_of(trie))}
