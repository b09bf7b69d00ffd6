"""Rows for a reconciliation service: distinct disease mentions as they are written, with their gold ids, and junk."""

from __future__ import annotations

import random
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchmarks.commands.starter import CORPORA, diseases_of
from benchmarks.report import data_folder
from onym.datasets.prepared import open_dataset
from onym.kb import KnowledgeBase

_SEED = 21
_WORDS = 20
_DATES = (
    "2021-03-04",
    "12/05/1998",
    "3 May 2010",
    "1999",
    "Q2 2020",
    "14:35",
    "Monday",
    "2020-01-01T00:00:00Z",
    "Jan-17",
    "31.12.2004",
)
_UNITS = ("mg/dl", "mmol/L", "2.5 mg", "kg", "75 %", "10 ml", "n = 12", "37.5 °C", "p < 0.05", "120/80 mmHg")
_PEOPLE = ("John Smith", "Maria Garcia", "Wei Chen", "Anna Kowalska", "Dr. Peter Miller")
_CITIES = ("Paris", "Tokyo", "New York", "Nairobi", "Buenos Aires")
Gold = Mapping[str, frozenset[str]]


def junk() -> list[str]:
    """Return 50 values that are no disease: random letters, dates, units, people and cities."""
    rng = random.Random(_SEED)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randrange(4, 13))) for _ in range(_WORDS)]
    return [*words, *_DATES, *_UNITS, *_PEOPLE, *_CITIES]


def mentions(split: str, count: int) -> dict[str, frozenset[str]]:
    """Return distinct surfaces of the diseases of two corpora, with the ids that mentions of this surface have alone.

    A surface all of whose mentions are composites has none: no single concept is right.
    """
    found: dict[str, set[str]] = {}
    for name in CORPORA.values():
        for doc in diseases_of(open_dataset(name, data=data_folder()).documents(split)):
            for mention in doc.mentions:
                if mention.concept_ids and mention.surface == mention.surface.strip() and mention.surface.isprintable():
                    found.setdefault(mention.surface, set()).update(
                        mention.concept_ids if len(mention.concept_ids) == 1 else ()
                    )
    sample = random.Random(_SEED).sample(sorted(found), min(count, len(found)))
    return {surface: frozenset(found[surface]) for surface in sample}


@dataclass(frozen=True)
class ReconciledRow:
    """A value, its first candidate, and the concept that it was matched with without a person."""

    value: str
    first: str | None
    matched: str | None


def judged(rows: Iterable[ReconciledRow], gold: Gold, kb: KnowledgeBase) -> dict[str, object]:
    """Return how many first candidates and matches are right. A concept is right that has a gold id, as a cross-reference."""
    values = {row.value: row for row in rows}
    right = {value: {concept for each in ids for concept in kb.concepts_with_id(each)} for value, ids in gold.items()}

    def is_right(value: str, concept_id: str | None) -> bool:
        return concept_id is not None and not right[value].isdisjoint(kb.resolve(concept_id))

    matches = [row for value in gold if (row := values[value]).matched]
    wrong = sum(not is_right(row.value, row.matched) for row in matches)
    return {
        "rows": len(gold),
        "gold_in_kb": round(sum(map(bool, right.values())) / len(gold), 3),
        "top1": round(sum(is_right(value, values[value].first) for value in gold) / len(gold), 3),
        "matches": len(matches),
        "match_coverage": round(len(matches) / len(gold), 3),
        "match_precision": round(1 - wrong / len(matches), 3) if matches else None,
        "wrong_match_share": round(wrong / len(matches), 3) if matches else 0.0,
        "junk": len(values) - len(gold),
        "junk_matched": sum(bool(row.matched) for value, row in values.items() if value not in gold),
    }
