"""The description of a trie, or of all tries that are kept with a knowledge base."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from onym.kb import KnowledgeBase
from onym.store.artefact.derived import describe_derived
from onym.trie.artefact import open_trie_artefact
from onym.trie.derived import find_tries
from onym.trie.shape import shape_of


def info(folder: Path) -> list[dict[str, Any]]:
    """Describe the trie at `folder`, or each trie of the knowledge base there."""
    return describe_derived(folder, "trie", _info, lambda kb: find_tries(KnowledgeBase.open(kb)))


def _info(folder: Path) -> dict[str, Any]:
    trie, origin, _ = open_trie_artefact(folder, verify="full")  # every node is looked at
    return {"folder": str(folder), "digest": trie.digest, **origin.model_dump(), **asdict(shape_of(trie))}
