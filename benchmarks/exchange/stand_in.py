"""Files in the form of Athena's download, made of a knowledge base: the real ones are licensed.

Ids are those that OMOP leaves to sites, from 2,000,000,000 on. In turn, a concept is standard itself, maps to one standard
concept, maps to two, or is not there.
"""

from __future__ import annotations

import csv
from pathlib import Path

from onym.kb import KnowledgeBase
from onym.outputs.omop import CONCEPTS, RELATIONSHIPS
from onym.outputs.vocabularies import Vocabularies

_OWN, _STANDARD = 2_000_000_000, 2_100_000_000
_DAYS = ("19700101", "20991231")
_HEAD = (
    *("concept_id", "concept_name", "domain_id", "vocabulary_id", "concept_class_id", "standard_concept"),
    *("concept_code", "valid_start_date", "valid_end_date", "invalid_reason"),
)
_PAIR = ("concept_id_1", "concept_id_2", "relationship_id", "valid_start_date", "valid_end_date", "invalid_reason")


def write_stand_in(kb: KnowledgeBase, folder: Path) -> None:
    """Write `CONCEPT.csv` and `CONCEPT_RELATIONSHIP.csv`."""
    names = Vocabularies()
    concepts: list[tuple[object, ...]] = [(0, "No matching concept", "Metadata", "None", "Undefined", "", "0", *_DAYS, "")]
    pairs: list[tuple[object, ...]] = []
    for row in range(len(kb)):
        vocabulary, code = names.omop(kb.concept_ids[row])
        kind, own = row % 4, _OWN + row
        if kind == 3:
            continue
        concepts.append((own, f"concept {row}", "Condition", vocabulary, "Disorder", "S" * (kind == 0), code, *_DAYS, ""))
        for target in range(_STANDARD + 2 * row, _STANDARD + 2 * row + kind):
            concepts.append((target, f"standard {target}", "Condition", "SNOMED", "Disorder", "S", str(target), *_DAYS, ""))
            pairs.append((own, target, "Maps to", *_DAYS, ""))
    _write(folder / CONCEPTS, _HEAD, concepts)
    _write(folder / RELATIONSHIPS, _PAIR, pairs)


def _write(path: Path, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE)
        writer.writerow(head)
        writer.writerows(rows)
