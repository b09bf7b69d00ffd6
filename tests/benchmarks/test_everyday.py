"""Tests of the benchmark of everyday sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.accuracy.everyday import score

from onym.kb import KnowledgeBase
from onym.methods.dictionary.detector import DictionaryDetector, DictionaryDetectorConfig
from onym.methods.exact import ExactLinker
from onym.pipeline import Pipeline

FEVER, MI = "MESH:D005334", "mesh:D009203"


def sentence(text: str, *mentions: tuple[str, str, str]) -> dict[str, Any]:
    rows = [
        {"start": text.index(surface), "end": text.index(surface) + len(surface), "type": kind, "accept": [concept_id]}
        for surface, kind, concept_id in mentions
    ]
    return {"id": text[:9], "text": text, "mentions": rows}


def test_counts_mentions_and_links_and_explains_misses(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    figures: dict[str, Any] = score(
        Pipeline(ExactLinker(kb), DictionaryDetector(kb, DictionaryDetectorConfig(min_length=3))),
        [
            sentence("High fever, later a chill.", ("High fever", "Phenotype", FEVER), ("chill", "Phenotype", "hp:1")),
            sentence("Then an MI and fever.", ("MI", "Disease", MI), ("fever", "Disease", MI)),
            sentence("The hypertension gene.", ("hypertension gene", "Gene", "ncbigene:1")),
            sentence("No hyperthermia here."),
        ],
    )
    assert (figures["mentions"], figures["recall"], figures["precision"]) == (4, 25.0, 33.3)
    assert figures["recall_by_type"]["Phenotype"] == 50.0
    assert figures["links_apart"] == 1
    assert figures["causes"] == {"no name": 1, "rejected": 1, "linked": 1}
    assert [each["text"] for each in figures["misses"]] == ["chill", "MI", "fever"]
    assert figures["misses"][1]["detail"].startswith("MI: too-short")
    assert [each["text"] for each in figures["wrong"]] == ["fever", "hyperthermia"]
