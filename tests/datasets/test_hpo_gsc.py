"""Tests of preparing GSC+ (HPO's gold standard corpus) from its archive."""

from __future__ import annotations

from pathlib import Path

from onym.datasets import prepare
from onym.datasets.base import NO_ID
from tests.datasets.made import count_drops, read, write_gsc


def test_reads_only_dev_and_test(tmp_path: Path) -> None:
    documents, drops = read("hpo-gsc", write_gsc(tmp_path))
    found = {split: [mention.concept_ids for doc in docs for mention in doc.mentions] for split, docs in documents.items()}
    assert found == {"dev": [("hp:0001945",)], "test": [("hp:0001945",)]}
    assert count_drops(drops, "dev") == {NO_ID: 1}


def test_no_overlap_without_train(tmp_path: Path) -> None:
    assert prepare("hpo-gsc", write_gsc(tmp_path), tmp_path / "out").report["overlap"] == {}
