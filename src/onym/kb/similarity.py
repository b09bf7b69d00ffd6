"""The TF-IDF of a knowledge base's names: counted on first use and kept with it, as tries and indexes are.

    KB/similarities/<16 hex digits>/     an artefact, named by the digest of the knowledge base

It holds the 3-grams of each name. Their weights are made at each opening, in a small part of the time that counting takes. A
small knowledge base is counted each time. Where the folder cannot be written, the artefact is kept in the cache directory.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from onym.errors import IntegrityError
from onym.kb.knowledge_base import KnowledgeBase
from onym.store.artefact.arrays import Ragged, corrupt
from onym.store.artefact.derived import Locations, open_derived
from onym.store.artefact.reader import Artefact
from onym.store.artefact.stage import Record, Stage
from onym.store.verify import Verify
from onym.text.similarity import NameSimilarity
from onym.text.trigrams import Counts, Vocabulary
from onym.types import Progress, silent

KIND, FORMAT, FOLDER = "similarity", 1, "similarities"
_FEW = 20_000  # names that are counted in less time than a file takes


def open_similarity(kb: KnowledgeBase, *, progress: Progress = silent) -> NameSimilarity:
    """Return the TF-IDF similarity of the names of a knowledge base.

    >>> similarity = open_similarity(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> len(similarity.top(["fevr"], 3))
    1
    """
    if len(kb.names) < _FEW:
        return NameSimilarity.of(kb.names)
    return open_derived(
        Locations.of(kb.folder.parent, FOLDER, [kb.digest, str(FORMAT)]),
        lambda path: _open(path, kb, verify=kb.verify),
        lambda stage, dest: write_similarity(stage, dest, kb, progress=progress),
        waiting=lambda: progress("waiting for another process that counts 3-grams", 0),
    )


def write_similarity(stage: Stage, dest: Path, kb: KnowledgeBase, *, progress: Progress = silent) -> None:
    """Count the 3-grams of all names, and publish them from a stage that is held already."""
    kb.require_intact()
    progress("counting 3-grams of names", 0)
    vocabulary, counts = Vocabulary.of(kb.names.to_arrow().to_pylist())
    stage.write_array("grams", vocabulary.grams)
    stage.write_array("idf", vocabulary.idf)
    stage.write_ragged("names", counts.offsets, counts.grams)
    stage.write_array("times", counts.times)
    numbers = {"names": len(kb.names), "grams": len(vocabulary), "pairs": len(counts.grams)}
    stage.publish(dest, KIND, FORMAT, Record({"kb": kb.digest}, [], numbers))


def _open(folder: Path, kb: KnowledgeBase, *, verify: Verify) -> NameSimilarity:
    artefact = Artefact.open(folder, KIND, FORMAT, verify)
    where = str(artefact.folder.parent)
    if artefact.manifest.config.get("kb") != kb.digest:
        raise IntegrityError("artefact-corrupt", "3-grams of another knowledge base", where=where, fix="delete the folder")
    grams, idf, times = artefact.array("grams"), artefact.array("idf", "f"), artefact.array("times")
    names = artefact.ragged("names", into=len(grams))
    if artefact.is_new_here:
        _require_sound(Vocabulary(grams, idf), names, times, len(kb.names), where)
        artefact.remember()
    return NameSimilarity.of_counts(Vocabulary(grams, idf), Counts(names.offsets.astype(np.int64), names.values, times))


def _require_sound(vocabulary: Vocabulary, names: Ragged, times: np.ndarray, count: int, where: str) -> None:
    names.require_sound(where, len(vocabulary))
    is_ordered = bool((vocabulary.grams[1:] > vocabulary.grams[:-1]).all())
    if len(names) != count or len(times) != len(names.values) or len(vocabulary.idf) != len(vocabulary) or not is_ordered:
        raise corrupt("the 3-grams of names do not fit together", where)
    if not bool(np.isfinite(vocabulary.idf).all()):
        raise corrupt("a weight is not finite", where)
