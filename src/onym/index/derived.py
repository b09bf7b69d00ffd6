"""The index kept with a knowledge base: built on first use, opened ever after.

    KB/indexes/<16 hex digits>/     an artefact, named by the digests of the knowledge base and the encoder, and the kind
    KB/vectors/<16 hex digits>/     the vectors of the names, named by the encoder

The versions of the knowledge base are not touched. Where its folder cannot be written, both are kept in the cache directory.
"""

from __future__ import annotations

from pathlib import Path

from onym.index.artefact import IndexArtefact, IndexOrigin, open_index_artefact
from onym.index.build import stage_index
from onym.index.kinds import AUTO
from onym.index.search import Index, index_of
from onym.index.source import VectorSource
from onym.kb import KnowledgeBase
from onym.store.artefact.derived import Locations, find_derived, open_derived
from onym.types import Progress, silent

FOLDER = "indexes"


def open_derived_index(kb: KnowledgeBase, encoder: VectorSource, kind: str = AUTO, *, progress: Progress = silent) -> Index:
    """Open the index of a knowledge base; where there is none, or one that is torn or out of date, build it first.

    Of several processes that need it at once, one builds it and the others wait.
    """
    return index_of(open_derived_index_artefact(kb, encoder, kind, progress=progress))


def open_derived_index_artefact(
    kb: KnowledgeBase,
    encoder: VectorSource,
    kind: str = AUTO,
    *,
    names_by: VectorSource | None = None,
    progress: Progress = silent,
) -> IndexArtefact:
    """Open the index of a knowledge base, as `open_derived_index` does, with what its artefact says.

    One that is built is of the vectors of `names_by`, if that is set: the same encoder in a finer precision.
    """
    origin = IndexOrigin.of(kb, encoder, kind)
    return open_derived(
        Locations.of(kb.folder.parent, FOLDER, [origin.kb, origin.encoder, origin.kind]),
        lambda path: open_index_artefact(path, origin, verify=kb.verify),
        lambda stage, dest: stage_index(stage, dest, kb, encoder, kind, names_by=names_by, progress=progress),
        waiting=lambda: progress("waiting for another process that builds the index", 0),
    )


def find_indexes(kb: KnowledgeBase) -> list[Path]:
    """Return the folders of the indexes kept with a knowledge base, and those of its version in the cache directory."""
    return find_derived(kb.folder.parent, FOLDER, lambda path: open_index_artefact(path).origin.kb == kb.digest)
