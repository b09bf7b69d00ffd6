"""Tests of preparing the NCBI disease corpus as GenBioEL does."""

from __future__ import annotations

from pathlib import Path

from onym.datasets import prepare
from onym.datasets.biosyn import COMPOSITE_IN_TRAIN
from tests.datasets.made import count_drops, read, write_biosyn, write_ncbi


def both(folder: Path) -> Path:
    return write_biosyn(write_ncbi(folder))


def test_inserts_mentions_into_their_abstracts(tmp_path: Path) -> None:
    documents, drops = read("ncbi-disease-genbioel", both(tmp_path))
    first, second, third = documents["train"]
    assert [doc.id for doc in documents["train"]] == ["1.1", "1.2", "3.1"]
    assert (first.text, second.text, third.text) == ("high fever and ht", "high fever and hypertension", "a fever or pains")
    assert [doc.mentions[0].surface for doc in documents["train"]] == ["fever", "hypertension", "fever"]
    assert all(len(doc.mentions) == 1 for docs in documents.values() for doc in docs)
    assert second.notes == (("document", "1"),)
    assert count_drops(drops, "train") == {COMPOSITE_IN_TRAIN: 2}


def test_uses_first_part_of_composite_with_all_ids(tmp_path: Path) -> None:
    documents, drops = read("ncbi-disease-genbioel", both(tmp_path))
    composite = documents["dev"][1]
    assert (composite.text, composite.mentions[0].concept_ids) == ("a fever", ("mesh:D005334", "mesh:D010146"))
    assert documents["test"][0].mentions[0].surface == "fever"
    assert count_drops(drops, "dev") == {}


def test_adjusts_offsets_if_lower_casing_changes_length(tmp_path: Path) -> None:
    documents, drops = read("ncbi-disease-genbioel", both(tmp_path))
    mention = documents["test"][0].mentions[0]
    assert (mention.start, mention.surface) == (8, "fever")
    assert dict(mention.notes)["offsets"] == "7|12"
    assert "corpus-offsets" not in drops.problems["test"]


def test_mention_with_invalid_offsets_has_no_context_and_is_counted(tmp_path: Path) -> None:
    lines = "4||7|12||Modifier||fever||D005334\n4||500|505||Modifier||fever||D005334\n4||0|3||Modifier||fever||D005334\n"
    lines += "4||x|y||Modifier||fever||D005334\n4||9|9||Modifier||fever||D005334\n"
    unknown = "77||0|5||Modifier||fever||D005334\n"
    write_biosyn(write_ncbi(tmp_path), concepts={"test/4": lines, "test/77": unknown})
    documents, drops = read("ncbi-disease-genbioel", tmp_path)
    assert [doc.text == "fever" for doc in documents["test"]] == [False, True, False, True, True, True]
    assert drops.problems["test"] == {"corpus-offsets": 5}


def test_reports_that_train_contains_dev(tmp_path: Path) -> None:
    prepared = prepare("ncbi-disease-genbioel", both(tmp_path), tmp_path / "out")
    assert prepared.report["overlap"]["dev in train"] == {"mentions": 2, "same_span": 1, "same_surface_and_ids": 1}
    assert prepared.report["overlap"]["test in train"]["same_span"] == 0
    assert prepared.report["warnings"][0].startswith("OVERLAP: 1 of 2 dev mentions (50.0 %) are in train too")
