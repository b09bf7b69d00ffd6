"""The index kept beside a knowledge base: built on first use, opened ever after.

    KB/indexes/<16 hex digits>/     an artefact, named by the digests of the knowledge base and the encoder, and the kind
    KB/vectors/<16 hex digits>/     the vectors of the names, named by the encoder

The versions of the knowledge base are not touched. Where its folder cannot be written, both are kept in the cache folder.
"""

from __future__ import annotations

from pathlib import Path

from onym.index.artefact import IndexOrigin, open_file
from onym.index.build import stage_index
from onym.index.kinds import AUTO
from onym.index.search import Index, open_index
from onym.index.source import Progress, VectorSource, silent
from onym.kb import KnowledgeBase
from onym.store.artefact import derived as beside

FOLDER = "indexes"


def index_beside(kb: KnowledgeBase, encoder: VectorSource, kind: str = AUTO, *, progress: Progress = silent) -> Index:
    """Open the index of a knowledge base, and build it first where there is none, or one that is torn or out of date.

    Of several processes that need it at once, one builds it and the others wait.
    """
    return open_index(kept_beside(kb, encoder, kind, progress=progress), IndexOrigin.of(kb, encoder, kind))


def kept_beside(kb: KnowledgeBase, encoder: VectorSource, kind: str = AUTO, *, progress: Progress = silent) -> Path:
    """Return the folder of the index that is kept for a knowledge base, having built it there if need be."""
    origin = IndexOrigin.of(kb, encoder, kind)
    return beside.kept(
        beside.places_of(kb.folder.parent, FOLDER, [origin.kb, origin.encoder, origin.kind]),
        lambda place: open_index(place, origin),
        lambda stage, dest: stage_index(stage, dest, kb, encoder, kind, progress=progress),
        waiting=lambda: progress("waiting for another process that builds the index", 0),
    )


def indexes_of(kb: KnowledgeBase) -> list[Path]:
    """Return the folders of the indexes that are kept beside a knowledge base, and those of its version in the cache folder."""
    return beside.all_beside(kb.folder.parent, FOLDER, lambda place: open_file(place)[1].kb == kb.digest)
