"""Finds concepts by exact name, by prefix, by words, and by TF-IDF similarity over all names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from onym.errors import IntegrityError
from onym.kb.knowledge_base import KnowledgeBase
from onym.kb.ranking import ConceptMask, names_of
from onym.store.arrays import Ragged, corrupt
from onym.store.artefact import Artefact
from onym.store.cache import Verify
from onym.store.derived import Locations, open_derived
from onym.store.stage import Record, Stage
from onym.text.normal import normal_name
from onym.text.similarity import GramCounts, GramVocabulary, NameSimilarity
from onym.types import Progress, silent

Match = Literal["exact", "prefix", "words"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A concept found by a search, with the name that matched and how it matched."""

    concept_id: str
    preferred_name: str
    name: str
    match: Match


def search(kb: KnowledgeBase, text: str, limit: int = 10) -> list[Hit]:
    """Return the best hits: exact matches, then prefix matches, then names with all the words; each concept once.

    >>> from onym.kb import KnowledgeBase
    >>> [hit.concept_id for hit in search(KnowledgeBase.open(getfixture("tiny_kb")), "blood pressure")]
    ['mesh:D006973']
    """
    hits: dict[int, Hit] = {}
    for row, match in _names(kb, normal_name(text), limit):
        for concept in kb.name_concepts[row]:
            hit = Hit(kb.concept_ids[int(concept)], kb.preferred_form(int(concept)), kb.form_of(int(concept), row), match)
            hits.setdefault(int(concept), hit)
        if len(hits) >= limit:
            break
    return list(islice(hits.values(), limit))


def _names(kb: KnowledgeBase, text: str, limit: int) -> Iterator[tuple[int, Match]]:
    if not text:
        return
    exact = kb.names.find(text)
    if exact >= 0:
        yield exact, "exact"
    first = kb.names.lower_bound(text.encode())
    beginning = range(first, min(first + 10 * limit, kb.names.lower_bound(text.encode() + b"\xff")))
    yield from ((row, "prefix") for row in sorted(beginning, key=lambda i: len(kb.names[i])))
    yield from ((row, "words") for row in _holding_all(kb, text.split()))


def _holding_all(kb: KnowledgeBase, words: list[str]) -> list[int]:
    """Return the names that contain every word, the shortest first."""
    import pyarrow.compute as pc

    rarest = max(words, key=len)  # the longest word is likely the rarest: it narrows down the names most
    found = np.flatnonzero(pc.match_substring(kb.names.to_arrow(), rarest).to_numpy(zero_copy_only=False))
    holding = [int(i) for i in found if all(word in kb.names[int(i)] for word in words)]
    return sorted(holding, key=lambda i: (len(kb.names[i]), i))


KIND, FORMAT, FOLDER = "similarity", 1, "similarities"
_FEW = 20_000  # below this number of names, counting is faster than reading a file


def open_similarity(kb: KnowledgeBase, *, only: ConceptMask | None = None, progress: Progress = silent) -> NameSimilarity:
    """Open the TF-IDF similarity of a knowledge base's names, or compute it if it is missing.

    With `only`, other names than those of these concepts have no 3-grams: they are never similar, and weights ignore them.

    >>> similarity = open_similarity(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> len(similarity.top(["fevr"], 3))
    1
    """
    is_wanted = None if only is None or only.all() else names_of(kb, only)
    if len(kb.names) < _FEW:
        return NameSimilarity(_texts(kb, is_wanted))
    mask = [] if is_wanted is None else [hashlib.sha256(np.packbits(is_wanted).tobytes()).hexdigest()]
    return open_derived(
        Locations.of(kb.folder.parent, FOLDER, [kb.digest, str(FORMAT), *mask]),
        lambda path: _open(path, kb, verify=kb.verify),
        lambda stage, dest: write_similarity(stage, dest, kb, is_wanted, progress=progress),
        waiting=lambda: progress("waiting for another process to count 3-grams", 0),
    )


def _texts(kb: KnowledgeBase, is_wanted: npt.NDArray[np.bool_] | None) -> list[str]:
    """Return the names, with empty strings for those that are not wanted."""
    names: list[str] = kb.names.to_arrow().to_pylist()
    return names if is_wanted is None else [name if kept else "" for name, kept in zip(names, is_wanted, strict=True)]


def write_similarity(
    stage: Stage,
    dest: Path,
    kb: KnowledgeBase,
    is_wanted: npt.NDArray[np.bool_] | None = None,
    *,
    progress: Progress = silent,
) -> None:
    """Count the 3-grams of all wanted names, write them to an open stage and publish it at `dest`."""
    kb.require_intact()
    progress("counting 3-grams of names", 0)
    vocabulary, counts = GramVocabulary.of(_texts(kb, is_wanted))
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
        what = "the 3-grams belong to another knowledge base"
        raise IntegrityError("artefact-corrupt", what, where=where, fix="delete the folder; it is rebuilt on next use")
    grams, idf, times = artefact.array("grams"), artefact.array("idf", "f"), artefact.array("times")
    names = artefact.read_ragged("names", into=len(grams))
    if artefact.is_new_here:
        _require_sound(GramVocabulary(grams, idf), names, times, len(kb.names), where)
        artefact.remember()
    return NameSimilarity.of_counts(GramVocabulary(grams, idf), GramCounts(names.offsets.astype(np.int64), names.values, times))


def _require_sound(vocabulary: GramVocabulary, names: Ragged, times: np.ndarray, count: int, where: str) -> None:
    names.require_sound(where, len(vocabulary))
    is_ordered = bool((vocabulary.grams[1:] > vocabulary.grams[:-1]).all())
    if len(names) != count or len(times) != len(names.values) or len(vocabulary.idf) != len(vocabulary) or not is_ordered:
        raise corrupt("the columns of 3-grams are unsorted or have inconsistent lengths", where)
    if not bool(np.isfinite(vocabulary.idf).all()):
        raise corrupt("an IDF weight is NaN or infinite", where)
