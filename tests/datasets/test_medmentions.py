"""Tests of preparing MedMentions, which has one corpus file and a list of PMIDs for each split."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets import prepare
from onym.datasets.catalogue import NO_SPLIT
from onym.errors import InputError
from tests.datasets.made import count_drops, read, write, write_medmentions


@pytest.mark.parametrize(("name", "part"), [("medmentions", "full"), ("medmentions-st21pv", "st21pv")])
def test_pmid_lists_assign_documents_to_splits(tmp_path: Path, name: str, part: str) -> None:
    documents, drops = read(name, write_medmentions(tmp_path, part))
    assert {split: [doc.id for doc in docs] for split, docs in documents.items()} == {
        "train": ["11"],
        "dev": ["12"],
        "test": ["13"],
    }
    assert documents["dev"][0].mentions[0].concept_ids == ("umls:C0015967",)
    assert count_drops(drops, "train") == {NO_SPLIT: 1}
    assert drops.problems == {"dev": {"corpus-malformed": 1}}


def test_full_corpus_is_not_mistaken_for_st21pv(tmp_path: Path) -> None:
    write_medmentions(tmp_path)
    with pytest.raises(InputError, match="dataset-files"):
        read("medmentions-st21pv", tmp_path / "MedMentions" / "full" / "data")


def test_rejects_an_empty_pmid_list(tmp_path: Path) -> None:
    write_medmentions(tmp_path)
    write(tmp_path / "MedMentions" / "full" / "data" / "corpus_pubtator_pmids_dev.txt", "")
    with pytest.raises(InputError, match="dataset-empty") as caught:
        prepare("medmentions", tmp_path, tmp_path / "out")
    assert "dev" in caught.value.what
