"""Builds an index of a knowledge base with an encoder, opens the index stored with a knowledge base, describes indexes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.methods.dense.index.artefact import IndexArtefact, IndexOrigin, IndexPart, open_index_artefact, write_index
from onym.methods.dense.index.kinds import AUTO, faiss, find_kind
from onym.methods.dense.index.search import Index, index_of
from onym.methods.dense.index.vectors import VectorSource, open_derived_vectors
from onym.store.artefact import Manifest
from onym.store.derived import Locations, describe_derived, find_derived, open_derived
from onym.store.stage import Stage, staging
from onym.types import Progress, silent


def build_index(
    kb: KnowledgeBase, encoder: VectorSource, dest: Path, kind: str = AUTO, *, progress: Progress = silent
) -> Manifest:
    """Build an index of all names of a knowledge base at `dest`. The vectors are stored with the knowledge base."""
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
    """Build an index on a locked stage, and publish it.

    `names_by` encodes the names: the same encoder in a higher precision, by default `encoder` itself.
    """
    kb.require_intact()
    names_by = names_by or encoder
    origin = IndexOrigin.of(kb, encoder, kind).model_copy(update={"precision": names_by.precision})
    faiss()  # if FAISS is missing, fail now and not after encoding all names
    vectors = open_derived_vectors(kb, names_by, progress=progress)
    return write_index(stage, dest, origin, vectors, progress=progress)


FOLDER = "indexes"


def open_derived_index(kb: KnowledgeBase, encoder: VectorSource, kind: str = AUTO, *, progress: Progress = silent) -> Index:
    """Open the index stored with a knowledge base; build it first if it is missing, corrupt or outdated.

    If several processes need the index at once, one builds it and the others wait.
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
    """Like `open_derived_index`, but return the index's parts, origin and artefact.

    If the index has to be built, `names_by` encodes the names: the same encoder in a higher precision.
    """
    origin = IndexOrigin.of(kb, encoder, kind)
    return open_derived(
        Locations.of(kb.folder.parent, FOLDER, [origin.kb, origin.encoder, origin.kind]),
        lambda path: open_index_artefact(path, origin, verify=kb.verify),
        lambda stage, dest: stage_index(stage, dest, kb, encoder, kind, names_by=names_by, progress=progress),
        waiting=lambda: progress("waiting for another process that builds the index", 0),
    )


def find_indexes(kb: KnowledgeBase) -> list[Path]:
    """Return the folders of the knowledge base's indexes, both in its own folder and in the cache directory."""
    return find_derived(kb.folder.parent, FOLDER, lambda path: open_index_artefact(path).origin.kb == kb.digest)


def info(folder: Path) -> list[dict[str, Any]]:
    """Describe the index at `folder`. If `folder` is a knowledge base, describe each of its indexes."""
    return describe_derived(folder, "index", _info, lambda kb: find_indexes(KnowledgeBase.open(kb)))


def _info(folder: Path) -> dict[str, Any]:
    _, origin, artefact = open_index_artefact(folder)
    size = sum(entry.bytes for entry in artefact.manifest.files.values())
    per_name = {"bytes_per_name": round(size / origin.names, 2)} if origin.names else {}
    return {"folder": str(folder), "digest": artefact.digest, **origin.model_dump(), "bytes": size, **per_name}


_KIND = "flat"


def index_in_memory(kb: KnowledgeBase, encoder: VectorSource, names: npt.NDArray[np.int64] | None = None) -> Index:
    """Build an exact in-memory index of all names of a knowledge base, or only of the names with the given ids."""
    ids = np.arange(len(kb.names)) if names is None else names
    index = faiss().IndexIDMap(find_kind(_KIND).make(encoder.width, len(ids)))
    if len(ids):
        index.add_with_ids(encoder.encode([kb.names[name] for name in ids.tolist()]), ids)
    return Index([IndexPart(0, len(kb.names), index)], IndexOrigin.of(kb, encoder, _KIND), digest="")
