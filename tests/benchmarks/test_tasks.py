"""Tests that the knowledge base of an evaluation task does not contain the mentions that it is evaluated on."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.results import tasks
from benchmarks.results.tasks import KINDS, OfType, medic_kb, open_task, successors

from onym.datasets import PreparedDataset


def names(key: str, split: str) -> list[str]:
    kb = open_task(key, split).kb
    return [kb.names[row] for row in range(len(kb.names))]


@pytest.mark.usefixtures("small_data")
def test_dev_dictionary_excludes_dev_mentions() -> None:
    assert names("ncbi_disease", "dev") == ["fever", "pain"]
    assert len(medic_kb().names) == 1
    assert names("ncbi_disease", "test") == ["cough pain", "fever", "hypertension", "omim"]


@pytest.mark.usefixtures("small_data")
def test_labels_exclude_training_phrases() -> None:
    assert names("askapatient_fold0_labels", "test") == ["fever", "headache"]
    assert len(names("askapatient_fold0", "test")) == 4


def test_caches_built_knowledge_bases(small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert small_data
    first = open_task("askapatient_fold0_labels", "test").kb.digest
    monkeypatch.setattr(tasks, "build_kb", None)
    assert open_task("askapatient_fold0_labels", "dev").kb.digest == first


def test_maps_retired_ids_with_one_successor(small_data: Path) -> None:
    table = "retired\tstrings\tcurrent\nC1\ta\tD1\nC2\tb\t\nC3\tc\tD3|D4\n"
    (small_data / "bc5cdr").mkdir()
    (small_data / "bc5cdr" / "retired_mesh_ids_candidates.tsv").write_text(table)
    assert successors() == {"mesh:C1": "mesh:D1"}


def test_only_the_open_knowledge_base_is_slow() -> None:
    slow = ["ncbi_disease_open", "bc5cdr", "biored_disease", "biored_chemical"]
    assert [key for key, kind in KINDS.items() if not kind.is_quick] == slow


@pytest.mark.usefixtures("small_data")
def test_excludes_mentions_of_other_types() -> None:
    part = OfType.open(open_task("ncbi_disease", "test").dataset.folder)
    mentions = [mention for doc in PreparedDataset.open(part.folder).documents("test") for mention in doc.mentions]
    part.of_type = mentions[0].type
    assert [mention for doc in part.documents("test") for mention in doc.mentions] == [
        mention for mention in mentions if mention.type == mentions[0].type
    ]
    part.of_type = "Species"
    assert not any(doc.mentions for doc in part.documents("test"))


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("key", "split", "mentions"), [("ncbi_disease", "dev", 787), ("askapatient_fold0_labels", "test", 867)]
)
def test_all_gold_ids_of_the_real_data_are_in_the_kb(
    real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, split: str, mentions: int
) -> None:
    monkeypatch.setenv("ONYM_DATA", str(real_data))
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path))
    found = open_task(key, split)
    ids = [mention.concept_ids for doc in found.dataset.documents(split) for mention in doc.mentions]
    assert len(ids) == mentions
    assert all(concept_id in found.kb for each in ids for concept_id in each)
