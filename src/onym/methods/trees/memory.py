"""Memory of annotated mentions: how often each normalised surface was annotated with each concept, by mention type.

A mention is counted under its surface and under its expanded abbreviation. Composite mentions are not counted, because no
single concept is the meaning of the surface. When features are computed for a document that is itself part of the memory, its
own counts are subtracted first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.store.arrays import Ragged, Strings
from onym.store.artefact import Artefact, Manifest
from onym.store.cache import Verify
from onym.store.stage import Record, staging
from onym.text.normal import normal_name
from onym.text.queries import queries_of
from onym.types import Document
from onym.vocabularies import canonical_prefix

KIND, FORMAT = "memory", 1
CORPORA = "corpora.json"
_CACHE_SIZE = 100_000  # maximum number of surfaces in the cache; surfaces often repeat
DECIDING_COUNT, DECIDING_SHARE = 3, 0.8
"""Annotations decide what a surface means if at least this many, and this share of all, have the same concept."""
Counts = Counter[tuple[str, str, str]]
"""Number of mentions by (surface, concept id, mention type)."""
Own = Mapping[str, Mapping[int, int]]
"""Counts to subtract, by surface and KB row."""


def count_mentions(documents: Iterable[Document]) -> Counts:
    """Count the concepts of each surface in annotated documents.

    >>> from onym.types import Mention
    >>> doc = Document("1", "Atrial fibrillation (AF)", (Mention(21, 23, "AF", ("mesh:D001281",), "Disease"),))
    >>> sorted(count_mentions([doc]).items())
    [(('af', 'mesh:D001281', 'Disease'), 1), (('atrial fibrillation', 'mesh:D001281', 'Disease'), 1)]
    """
    counts: Counts = Counter()
    for doc in documents:
        for _, mention, text, _ in queries_of(doc):
            if len(set(mention.concept_ids)) == 1:
                surfaces = dict.fromkeys((normal_name(mention.surface), text))
                counts.update((surface, mention.concept_ids[0], mention.type) for surface in surfaces if surface)
    return counts


class Memory:
    """Mention counts in columns: sorted surfaces, each with its concepts, mention types and counts.

    >>> memory = Memory.of(Counter({("fever", "mesh:D005334", "Disease"): 2}))
    >>> [(concept_id, kind, count) for concept_id, kind, count in memory.entries("fever")]
    [('mesh:D005334', 'Disease', 2)]
    """

    def __init__(self, surfaces: Strings, concepts: Strings, types: Strings, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        self.surfaces, self.concepts, self.types = surfaces, concepts, types
        self.offsets, self.counts = columns["offsets"], columns["counts"]
        self.entry_concepts = Ragged(self.offsets, columns["concepts"], into=len(concepts), name="entry.concepts")
        self.entry_types = Ragged(self.offsets, columns["types"], into=len(types), name="entry.types")
        self.entry_counts = Ragged(self.offsets, columns["counts"], name="entry.counts")

    @classmethod
    def of(cls, counts: Counts) -> Memory:
        """Convert counts into columns."""
        keys = sorted(counts, key=lambda key: tuple(part.encode() for part in key))
        surfaces, concepts, types = (sorted({key[part] for key in keys}, key=str.encode) for part in range(3))
        concept_row, type_row = ({text: row for row, text in enumerate(texts)} for texts in (concepts, types))
        sizes = Counter(surface for surface, _, _ in keys)
        columns = {
            "offsets": np.cumsum([0, *(sizes[surface] for surface in surfaces)]).astype(np.uint32),
            "concepts": np.array([concept_row[key[1]] for key in keys], dtype=np.uint32),
            "types": np.array([type_row[key[2]] for key in keys], dtype=np.uint32),
            "counts": np.array([counts[key] for key in keys], dtype=np.uint32),
        }
        return cls(Strings.of(surfaces), Strings.of(concepts), Strings.of(types), columns)

    def entries(self, surface: str) -> list[tuple[str, str, int]]:
        """Return the (concept id, mention type, count) entries of a surface."""
        row = self.surfaces.find(surface)
        if row < 0:
            return []
        found = zip(self.entry_concepts[row], self.entry_types[row], self.entry_counts[row], strict=True)
        return [(self.concepts[int(c)], self.types[int(t)], int(count)) for c, t, count in found]

    def require_sound(self) -> None:
        """Raise IntegrityError if a column is damaged or points outside its table."""
        for name, column in (("surfaces", self.surfaces), ("concepts", self.concepts), ("types", self.types)):
            column.require_sound(name)
        self.entry_concepts.require_sound("entry.concepts", len(self.concepts))
        self.entry_types.require_sound("entry.types", len(self.types))
        self.entry_counts.require_sound("entry.counts")
        if len(self.entry_counts) != len(self.surfaces):
            raise IntegrityError(
                "artefact-corrupt", "the columns of a memory have different lengths", fix="train the reranker again"
            )


def write_memory(counts: Counts, corpora: Sequence[Mapping[str, Any]], dest: Path) -> Manifest:
    """Write a memory to `dest`; `corpora` describes the source corpora and their licences."""
    memory = Memory.of(counts)
    with staging(dest) as stage:
        for name in ("surfaces", "concepts", "types"):
            stage.write_strings(name, getattr(memory, name))
        stage.write_array("entry.offsets", memory.offsets)
        for name in ("concepts", "types", "counts"):
            stage.write_array(f"entry.{name}", getattr(memory, f"entry_{name}").values)
        stage.write_json(CORPORA, {"corpora": list(corpora)})
        sizes = {name: len(getattr(memory, name)) for name in ("surfaces", "concepts")}
        config = {"corpora": [str(corpus["name"]) for corpus in corpora]}
        return stage.publish(dest, KIND, FORMAT, Record(config, [], {**sizes, "mentions": int(memory.counts.sum())}))


def open_memory(folder: Path | str, *, verify: Verify = "once") -> Memory:
    """Open a memory; all bytes are verified the first time it is opened on a machine."""
    artefact = Artefact.open(Path(folder), KIND, FORMAT, verify)
    columns = {name: artefact.array(f"entry.{name}") for name in ("offsets", "concepts", "types", "counts")}
    memory = Memory(artefact.strings("surfaces"), artefact.strings("concepts"), artefact.strings("types"), columns)
    if artefact.is_new_here:
        memory.require_sound()
        artefact.remember()
    return memory


class KbMemory:
    """A memory with concepts resolved to KB rows; ids that are unknown or ambiguous in the KB are ignored."""

    def __init__(self, memory: Memory, kb: KnowledgeBase) -> None:
        self.memory = memory
        self.rows = kb.resolve_many(list(memory.concepts))
        self._vocabularies = [canonical_prefix(concept_id.partition(":")[0]) for concept_id in memory.concepts]
        self.totals = self._totals(len(kb))
        self._counted = lru_cache(_CACHE_SIZE)(self._count)
        self._recalled = lru_cache(_CACHE_SIZE)(self._count_known)

    def recall(self, surface: str, own: Own | None = None, vocabulary: str = "") -> dict[int, int]:
        """Return the counts of a surface by KB row, minus the counts in `own`; counts of 0 are left out.

        With `vocabulary`, only annotations with ids of this vocabulary count.
        """
        found = self._recalled(surface, vocabulary)
        if not own or surface not in own:
            return found
        less = own[surface]
        return {concept: count - less.get(concept, 0) for concept, count in found.items() if count > less.get(concept, 0)}

    def meaning(self, surface: str) -> int:
        """Return the concept that the annotations decide: they say it often and nearly always; -1 if there is none.

        Annotations with ids that the knowledge base does not have count too, for none of its concepts.
        """
        counts = self._counted(surface)
        concept = max(counts, key=counts.__getitem__, default=-1)
        is_clear = concept >= 0 and counts[concept] >= max(DECIDING_COUNT, DECIDING_SHARE * counts.total())
        return concept if is_clear else -1

    def _count_known(self, surface: str, vocabulary: str) -> dict[int, int]:
        return {concept: count for concept, count in self._counted(surface, vocabulary).items() if concept >= 0}

    def _count(self, surface: str, vocabulary: str = "") -> Counter[int]:
        """Return the counts of a surface by KB row; -1 for ids that are unknown or ambiguous."""
        row = self.memory.surfaces.find(surface)
        found: Counter[int] = Counter()
        if row < 0:
            return found
        entries = (each[row].tolist() for each in (self.memory.entry_concepts, self.memory.entry_counts))
        for concept, count in zip(*entries, strict=True):
            if not vocabulary or self._vocabularies[concept] == vocabulary:
                found[int(self.rows[concept])] += count
        return found

    def own(self, counts: Counts) -> dict[str, dict[int, int]]:
        """Convert the counts of a document to KB rows, for subtraction in `recall`."""
        found: dict[str, dict[int, int]] = {}
        for (surface, concept_id, _), count in counts.items():
            known = self.memory.concepts.find(concept_id)
            if known >= 0:
                rows = found.setdefault(surface, {})
                rows[int(self.rows[known])] = rows.get(int(self.rows[known]), 0) + count
        return found

    def by_type(self) -> dict[str, npt.NDArray[np.int64]]:
        """Return the count of each concept of the memory, by mention type."""
        found = {}
        for row in range(len(self.memory.types)):
            is_type = self.memory.entry_types.values == row
            concepts = self.memory.entry_concepts.values[is_type]
            weights = self.memory.counts[is_type]
            found[self.memory.types[row]] = np.bincount(concepts, weights, minlength=len(self.rows)).astype(np.int64)
        return found

    def _totals(self, size: int) -> npt.NDArray[np.int64]:
        """Return the total count of each concept of the knowledge base."""
        rows = self.rows[self.memory.entry_concepts.values]
        is_known = rows >= 0
        return np.bincount(rows[is_known], self.memory.counts[is_known], minlength=size).astype(np.int64)
