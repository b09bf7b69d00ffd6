"""Building an index of a knowledge base with an encoder: first the vectors, which are kept, then the index."""

from __future__ import annotations

from pathlib import Path

from onym.index.artefact import IndexOrigin, write_index
from onym.index.kinds import AUTO
from onym.index.library import faiss
from onym.index.source import VectorSource
from onym.index.vectors import open_derived_vectors
from onym.kb import KnowledgeBase
from onym.store.artefact.manifest import Manifest
from onym.store.artefact.stage import Stage, staging
from onym.types import Progress, silent


def build_index(
    kb: KnowledgeBase, encoder: VectorSource, dest: Path, kind: str = AUTO, *, progress: Progress = silent
) -> Manifest:
    """Build the index of all names of a knowledge base at `dest`. Their vectors are kept with the knowledge base."""
    with staging(dest) as stage:
        return stage_index(stage, dest, kb, encoder, kind, progress=progress)


def stage_index(
    stage: Stage,
    dest: Path,
    kb: KnowledgeBase,
    encoder: VectorSource,
    kind: str,
    *,
    names_by: VectorSource | None = None,
    progress: Progress,
) -> Manifest:
    """Build an index on a stage that is held already, and publish it.

    The vectors of the names are by another encoder if `names_by` is set: the same one in a finer precision.
    """
    kb.require_intact()
    names_by = names_by or encoder
    origin = IndexOrigin.of(kb, encoder, kind).model_copy(update={"precision": names_by.precision})
    faiss()  # if it is missing, that is an error now, and not when all names are encoded
    vectors = open_derived_vectors(kb, names_by, progress=progress)
    return write_index(stage, dest, origin, vectors, progress=progress)
