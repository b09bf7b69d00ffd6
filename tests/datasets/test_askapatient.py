"""Tests of preparing the folds of AskAPatient."""

from __future__ import annotations

from pathlib import Path

from onym.datasets import prepare
from onym.datasets.base import NO_ID
from onym.kb import KnowledgeBase
from tests.datasets.made import count_drops, read, write_askapatient


def test_each_phrase_is_a_document(tmp_path: Path) -> None:
    documents, drops = read("askapatient-fold3", write_askapatient(tmp_path, 3))
    assert [doc.text for doc in documents["train"]] == ['burning "hot"', "Fever", "caf\xe9 head"]
    assert documents["test"][0].mentions[0].concept_ids == ("snomedct:25064002",)
    assert count_drops(drops, "test") == {NO_ID: 1}
    assert drops.problems["train"] == {"corpus-malformed": 1}


def test_kb_names_are_labels_and_training_phrases(tmp_path: Path) -> None:
    prepared = prepare("askapatient-fold0", write_askapatient(tmp_path), tmp_path / "out")
    assert prepared.kb_folder is not None
    kb = KnowledgeBase.open(prepared.kb_folder)
    assert kb["snomedct:386661006"].preferred_name == "Fever"
    assert kb["snomedct:386661006"].names == ("fever", "burning hot")
    assert kb.find("shivers") < 0
    assert prepared.report["overlap"]["test in kb"] == {"mentions": 1, "kb_name": 1}
    assert prepared.report["overlap"]["test in train"] == {"mentions": 1, "same_span": 0, "same_surface_and_ids": 1}
    assert prepared.report["warnings"] == []
