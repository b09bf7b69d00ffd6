"""Tests of preparing datasets from files, and of opening them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from onym.corpora.plain import to_plain
from onym.datasets import PreparedDataset, catalogue, prepare
from onym.datasets import prepared as module
from onym.errors import ConfigError, InputError, IntegrityError, LimitError, OnymError
from onym.kb import KnowledgeBase
from onym.store.artefact import check_artefact
from onym.store.limits import Limits
from tests.datasets.made import (
    read,
    write,
    write_askapatient,
    write_biosyn,
    write_cometa,
    write_gsc,
    write_medmentions,
    write_ncbi,
    write_species,
)  # fmt: skip

MADE: dict[str, Callable[[Path], Path]] = {
    "ncbi-disease": write_ncbi,
    "ncbi-disease-genbioel": lambda folder: write_biosyn(write_ncbi(folder)),
    "ncbi-disease-biosyn": write_biosyn,
    "askapatient-fold0": write_askapatient,
    "s800": write_species,
    "hpo-gsc": write_gsc,
    "medmentions": write_medmentions,
    "cometa": write_cometa,
}


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", MADE)
def test_preparation_is_reproducible(tmp_path: Path, name: str) -> None:
    shutil.copytree(MADE[name](tmp_path / "data"), tmp_path / "elsewhere" / "data")
    prepare(name, tmp_path / "data", tmp_path / "1")
    prepare(name, tmp_path / "elsewhere" / "data", tmp_path / "2")
    first, second = files(tmp_path / "1"), files(tmp_path / "2")
    assert any(path.endswith(".jsonl") for path in first)
    assert first == second


@pytest.mark.parametrize("name", MADE)
def test_documents_survive_a_round_trip(tmp_path: Path, name: str) -> None:
    MADE[name](tmp_path)
    documents, _ = read(name, tmp_path)
    prepared = prepare(name, tmp_path, tmp_path / "out")
    assert (prepared.name, prepared.splits) == (name, tuple(documents))
    for split, docs in documents.items():
        assert [to_plain(doc) for doc in prepared.documents(split)] == [to_plain(doc) for doc in docs]
    assert check_artefact(tmp_path / "out") == []
    assert PreparedDataset.open(tmp_path / "out").digest == prepared.digest
    assert prepared.manifest.counts[f"{prepared.splits[0]}_documents"] == len(documents[prepared.splits[0]])


def test_manifest_has_digests_of_input_files(tmp_path: Path) -> None:
    prepared = prepare("s800", write_species(tmp_path), tmp_path / "out")
    path = tmp_path / "pubtator" / "SPECIES_Train.PubTator"
    entry = prepared.manifest.inputs[0]
    assert (entry.name, entry.sha256) == ("SPECIES_Train.PubTator", hashlib.sha256(path.read_bytes()).hexdigest())
    assert prepared.manifest.config == {"name": "s800", "options": {"kb": "none"}, "kb": ""}
    path.write_text(path.read_text() + "\n")
    assert prepare("s800", tmp_path, tmp_path / "again").digest != prepared.digest


def test_given_kb_replaces_own_dictionary(tmp_path: Path, tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    data = write_biosyn(tmp_path)
    prepared = prepare("ncbi-disease-biosyn", data, tmp_path / "out", kb=kb)
    assert prepared.kb_folder is None
    assert not (tmp_path / "out" / "kb").exists()
    assert prepared.manifest.config["kb"] == kb.digest == prepared.report["kb"]["digest"]
    assert (prepared.report["splits"]["train"]["mentions"], prepared.report["splits"]["train"]["in_kb"]) == (4, 2)
    own = prepare("ncbi-disease-biosyn", data, tmp_path / "own")
    assert own.kb_folder == tmp_path / "own" / "kb"
    assert own.manifest.config["kb"] == KnowledgeBase.open(tmp_path / "own" / "kb").digest


def test_does_not_overwrite_without_force(tmp_path: Path, tiny_kb: Path) -> None:
    data = write_species(tmp_path / "data")
    first = prepare("s800", data, tmp_path / "out")
    with pytest.raises(ConfigError, match="output-exists"):
        prepare("s800", data, tmp_path / "out")
    assert prepare("s800", data, tmp_path / "out", force=True).digest == first.digest
    kb = tmp_path / "kb"
    write_biosyn(tmp_path / "data")
    prepare("ncbi-disease-biosyn", tmp_path / "data", tmp_path / "b")
    (tmp_path / "b" / "kb").rename(kb)
    with pytest.raises(ConfigError, match="output-exists"):
        prepare("s800", data, kb, force=True)
    assert KnowledgeBase.open(kb).find("fever") >= 0


def test_damaged_dataset_is_rejected_and_can_be_replaced(tmp_path: Path) -> None:
    data = write_species(tmp_path / "data")
    prepared = prepare("s800", data, tmp_path / "out")
    path = tmp_path / "out" / prepared.digest / "test.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        PreparedDataset.open(tmp_path / "out")
    assert list(prepare("s800", data, tmp_path / "out", force=True).documents("test"))


def test_rejects_other_artefact_kinds(tiny_kb: Path) -> None:
    with pytest.raises(IntegrityError, match="artefact-kind"):
        PreparedDataset.open(tiny_kb)


def test_rejects_missing_split(tmp_path: Path) -> None:
    prepared = prepare("s800", write_species(tmp_path), tmp_path / "out")
    with pytest.raises(ConfigError, match="dataset-split"):
        list(prepared.documents("dev"))


@pytest.mark.parametrize("dataset", [each.name for each in catalogue()])
def test_missing_files_error_for_each_dataset(tmp_path: Path, dataset: str) -> None:
    with pytest.raises(InputError, match="dataset-files"):
        prepare(dataset, tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(
    "data", [b"", b"<html>Not found</html>\n", b"\xff\xfe\x00\x01" * 9, b"\x1f\x8b\x08 cut", b"PK\x03\x04 cut"]
)
def test_malicious_file_raises_onym_error(tmp_path: Path, name: str, data: bytes) -> None:
    MADE[name](tmp_path)
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        path.write_bytes(data)
    with pytest.raises(OnymError):
        prepare(name, tmp_path, tmp_path / "out")
    with pytest.raises(OnymError):
        PreparedDataset.open(tmp_path / "out")


def test_rejects_files_of_another_corpus(tmp_path: Path) -> None:
    write_species(tmp_path)
    write(tmp_path / "pubtator" / "SPECIES_Test.PubTator", "1|t|Nothing here\n1|a|\n")
    with pytest.raises(InputError, match="dataset-empty"):
        prepare("s800", tmp_path, tmp_path / "out")


def test_rejects_document_too_long_to_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DEFAULT_LIMITS", Limits(line_bytes=50))
    with pytest.raises(LimitError, match="limit-line"):
        prepare("s800", write_species(tmp_path), tmp_path / "out")


def test_rejects_invalid_split_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "to_plain", lambda doc: {"id": doc.id, "text": 5})
    prepared = prepare("s800", write_species(tmp_path), tmp_path / "out")
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        list(prepared.documents("test"))


SIZES = {
    "ncbi-disease": (5133, 787, 960),
    "ncbi-disease-genbioel": (5784, 787, 960),
    "bc5cdr": (9352, 9585, 9755),
    "askapatient-fold0": (15612, 845, 867),
    "biored": (13320, 3513, 3523),
    "nlm-chem": (11729,),
    "hpo-gsc": (173, 1949),
}
QUERIES = {"ncbi-disease-biosyn": (5134, 787, 960), "bc5cdr-disease-biosyn": (4131, 4178, 4287)}


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.real_data
@pytest.mark.parametrize("name", [*SIZES, *QUERIES])
def test_real_corpora_have_published_sizes(real_data: Path, tmp_path: Path, name: str) -> None:
    report = prepare(name, real_data, tmp_path / "out").report
    key = "mentions" if name in SIZES else "queries"
    splits = [report["splits"][split][key] for split in ("train", "dev", "test") if split in report["splits"]]
    assert tuple(splits) == {**SIZES, **QUERIES}[name]
    assert "corpus-offsets" not in report["splits"]["test"]["problems"]
    if name == "ncbi-disease-genbioel":
        assert report["overlap"]["dev in train"]["same_span"] == 757
        assert report["warnings"]
        assert report["overlap"]["test in kb"]["kb_name"] == 739
