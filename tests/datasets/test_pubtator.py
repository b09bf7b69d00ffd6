"""Tests of preparing the datasets that are published in PubTator's format."""

from __future__ import annotations

from pathlib import Path

from onym.datasets.base import NO_ID
from onym.datasets.catalogue import DUPLICATE
from tests.datasets.made import block, count_drops, pubtator, read, write, write_ncbi, write_species


def test_ncbi_keeps_composites_and_drops_duplicate_documents(tmp_path: Path) -> None:
    documents, drops = read("ncbi-disease", write_ncbi(tmp_path))
    assert {split: [doc.id for doc in docs] for split, docs in documents.items()} == {
        "train": ["1", "2"],
        "dev": ["3"],
        "test": ["4"],
    }
    assert documents["train"][1].mentions[0].concept_ids == ("mesh:D005334", "mesh:D003371")
    assert documents["test"][0].mentions[1].concept_ids == ("omim:608446",)
    assert count_drops(drops, "train") == {DUPLICATE: 1}
    assert not drops.problems["train"]


def test_drops_mentions_without_id_and_keeps_all_types(tmp_path: Path) -> None:
    documents, drops = read("s800", write_species(tmp_path))
    assert [mention.surface for mention in documents["train"][0].mentions] == ["mouse"]
    assert count_drops(drops, "train") == {NO_ID: 1}
    assert len(documents["test"]) == 2


def test_last_hundred_biored_documents_are_dev(tmp_path: Path) -> None:
    both = pubtator(*(block(str(number), "A mouse", "mouse\tSpecies\t10090") for number in range(103)))
    write(tmp_path / "BioRED_TrainDev.PubTator", both.replace("50\t2", "50\t1", 1))
    write(tmp_path / "BioRED_Test.PubTator", pubtator(block("200", "A rat", "rat\tSpecies\t10116")))
    documents, drops = read("biored", tmp_path)
    assert [doc.id for doc in documents["train"]] == ["0", "1", "2"]
    assert (len(documents["dev"]), documents["dev"][-1].id, documents["test"][0].id) == (100, "102", "200")
    assert sum(len(doc.mentions) for doc in documents["dev"]) == 99
    assert sum(count["corpus-offsets"] for count in drops.problems.values()) == 1


def test_nlm_chem_passages_are_documents(tmp_path: Path) -> None:
    text = pubtator(*(block("9", f"Passage {n} of aspirin", "aspirin\tChemical\tMESH:D001241") for n in range(3)))
    write(tmp_path / "NLMchem_Test.PubTator", text)
    documents, drops = read("nlm-chem", tmp_path)
    assert ([doc.id for doc in documents["test"]], dict(drops.problems)) == (["9", "9", "9"], {})
