"""Tests of preparing BioSyn's queries and dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.corpora.base import PART_OF
from onym.datasets import get, prepare
from onym.datasets.base import NO_ID
from onym.datasets.biosyn import parts_of
from onym.errors import InputError
from onym.kb import KnowledgeBase
from tests.datasets.made import count_drops, read, write, write_biosyn


def test_splits_composites_into_parts_with_a_common_note(tmp_path: Path) -> None:
    documents, drops = read("ncbi-disease-biosyn", write_biosyn(tmp_path))
    doc = documents["dev"][0]
    assert (doc.id, doc.text) == ("3", "fever\nfever\npains")
    assert [(mention.surface, dict(mention.notes).get(PART_OF)) for mention in doc.mentions] == [
        ("fever", None),
        ("fever", "2"),
        ("pains", "2"),
    ]
    assert {mention.concept_ids for mention in doc.mentions[1:]} == {("mesh:D005334", "mesh:D010146")}
    assert count_drops(drops, "test") == {NO_ID: 1}
    assert dict(documents["test"][0].mentions[0].notes)["ids"] == " D005334"


def test_archive_and_folder_give_same_documents(tmp_path: Path) -> None:
    packed, _ = read("bc5cdr-disease-biosyn", write_biosyn(tmp_path / "a", "bc5cdr-disease"))
    loose, _ = read("bc5cdr-disease-biosyn", write_biosyn(tmp_path / "b", "bc5cdr-disease", packed=False))
    assert packed == loose


def test_dictionary_row_is_one_concept_with_all_ids(tmp_path: Path) -> None:
    prepared = prepare("ncbi-disease-biosyn", write_biosyn(tmp_path), tmp_path / "out")
    assert prepared.kb_folder is not None
    kb = KnowledgeBase.open(prepared.kb_folder)
    assert [kb.concept_ids[c] for c in kb.concepts_named("fever")] == ["mesh:D005334"]
    assert [kb.concept_ids[c] for c in kb.concepts_named("omim")] == ["omim:608446"]
    assert {kb.concept_ids[c] for c in kb.concepts_with_id("omim:608446")} == {"mesh:D005334", "omim:608446"}
    assert len(kb.concepts_named("cough pain")) == 2
    assert kb.find("never read") < 0
    assert [entry.name for entry in prepared.manifest.inputs] == ["ncbi-disease.tar.gz"]


def test_rejects_archive_without_queries_or_dictionary(tmp_path: Path) -> None:
    write(tmp_path / "ncbi-disease" / "processed_train" / "1.concept", "")
    with pytest.raises(InputError, match="dataset-files"):
        prepare("ncbi-disease-biosyn", tmp_path, tmp_path / "out")
    with pytest.raises(InputError, match="dataset-files"):
        read("ncbi-disease-biosyn", tmp_path)
    assert get("ncbi-disease-biosyn").dictionary is not None


@pytest.mark.parametrize(
    ("surface", "parts"), [("a|b", ["a", "b"]), ("a+b", ["a", "b"]), ("a | ", ["a"]), ("|", ["|"]), ("a b", ["a b"])]
)
def test_splits_surface_into_parts(surface: str, parts: list[str]) -> None:
    assert parts_of(surface) == parts
