"""OMOP's concept ids, from the vocabularies that a site downloads from Athena: `CONCEPT.csv`, `CONCEPT_RELATIONSHIP.csv`.

A code leads to a concept of its own vocabulary, the *source* concept. Tables of OMOP also want the *standard* concept, which
is that concept itself or the ones it maps to. The files are licensed, so Onym has none of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from onym.errors import InputError
from onym.store.files.source import InputFile
from onym.store.files.table import TableFormat, iter_table

NO_CONCEPT = 0
"""What OMOP writes where there is no concept."""
CONCEPTS, RELATIONSHIPS = "CONCEPT.csv", "CONCEPT_RELATIONSHIP.csv"
_STANDARD, _MAPS_TO = "S", "Maps to"
_LIMIT = 2**31  # ids are 32-bit integers
Key = tuple[str, str]
"""A vocabulary_id and a concept_code."""


class StandardConcept(NamedTuple):
    """A concept that tables of OMOP are analysed by."""

    id: int
    vocabulary: str


class OmopConcept(NamedTuple):
    """The concept of a code, and the standard concepts that it stands for: none, one or several."""

    id: int
    standard: tuple[StandardConcept, ...] = ()


class OmopConcepts:
    """The concepts of codes. One that is not known has none.

    >>> OmopConcepts({("SNOMED", "386661006"): OmopConcept(437663)}).find("SNOMED", "386661006").id
    437663
    >>> OmopConcepts().find("MeSH", "D005334") is None
    True
    """

    def __init__(self, concepts: dict[Key, OmopConcept] | None = None) -> None:
        self._concepts = concepts or {}

    def __len__(self) -> int:
        """Return how many codes are known."""
        return len(self._concepts)

    def find(self, vocabulary: str, code: str) -> OmopConcept | None:
        """Return the concept of a code."""
        return self._concepts.get((vocabulary, code))

    @classmethod
    def read(cls, folder: Path, vocabularies: Collection[str]) -> OmopConcepts:
        """Read the concepts of some vocabularies from the folder of a download. Without relationships, none is mapped on."""
        ids: dict[Key, int] = {}
        standard: dict[int, tuple[StandardConcept, ...]] = {}
        for number, vocabulary, code, mark in _rows(folder / CONCEPTS, _CONCEPT, "vocabulary_id", vocabularies):
            concept = _whole_number(number, folder / CONCEPTS)
            ids[vocabulary, code] = concept
            if mark == _STANDARD:
                standard[concept] = (StandardConcept(concept, vocabulary),)
        if (folder / RELATIONSHIPS).exists():
            standard |= _mapped(folder, {concept for concept in ids.values() if concept not in standard})
        return cls({key: OmopConcept(concept, standard.get(concept, ())) for key, concept in ids.items()})


_CONCEPT = ("concept_id", "vocabulary_id", "concept_code", "standard_concept")
_RELATIONSHIP = ("concept_id_1", "concept_id_2", "relationship_id", "invalid_reason")


def _mapped(folder: Path, concepts: Collection[int]) -> dict[int, tuple[StandardConcept, ...]]:
    """Return the standard concepts that others map to."""
    wanted = {str(concept) for concept in concepts}
    pairs = [
        (first, second)
        for first, second, relation, invalid in _rows(folder / RELATIONSHIPS, _RELATIONSHIP, "concept_id_1", wanted)
        if relation == _MAPS_TO and not invalid and first != second
    ]
    targets = {second for _, second in pairs}
    vocabularies = {
        number: vocabulary
        for number, vocabulary, _, mark in _rows(folder / CONCEPTS, _CONCEPT, "concept_id", targets)
        if mark == _STANDARD
    }
    found: dict[int, set[StandardConcept]] = {}
    for first, second in pairs:
        if second in vocabularies:
            target = StandardConcept(_whole_number(second, folder / RELATIONSHIPS), vocabularies[second])
            found.setdefault(int(first), set()).add(target)
    return {concept: tuple(sorted(each)) for concept, each in found.items()}


def _rows(path: Path, columns: Sequence[str], by: str, values: Collection[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows whose column `by` has one of these values; Athena separates by tabs, and quotes nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array(sorted(values), pa.large_string())
    for batch in iter_table(InputFile.from_path(path), TableFormat(), columns):
        kept = batch.filter(pc.is_in(batch.column(by), value_set=wanted))
        yield from zip(*(kept.column(name).to_pylist() for name in columns), strict=True)


def _whole_number(text: str, path: Path) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) >= _LIMIT:
        fix = "name the folder that was downloaded from Athena, unpacked"
        raise InputError("omop-vocabulary", "a concept_id is no 32-bit whole number", where=str(path), fix=fix)
    return int(text)
