"""Tests that training documents exclude all documents of other dev and test splits."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets import PreparedDataset, prepare
from onym.datasets.training import EvaluationDocuments, require_shippable, training_corpora
from onym.errors import ConfigError
from onym.types import Document, Passage

LONG = "A trial of aspirin in the prevention of stroke after surgery. " * 5


def write(folder: Path, split: str, documents: dict[str, str]) -> None:
    blocks = [f"{key}|t|{text}\n{key}|a|\n{key}\t0\t5\t{text[:5]}\tSpecies\t10090\n" for key, text in documents.items()]
    (folder / f"SPECIES_{split}.PubTator").write_text("\n".join(blocks))


def dataset(folder: Path, train: dict[str, str], test: dict[str, str]) -> PreparedDataset:
    folder.mkdir()
    write(folder, "Train", train)
    write(folder, "Test", test)
    return prepare("s800", folder, folder / "prepared")


def test_leaves_out_test_documents_of_other_corpora_by_id_and_text(tmp_path: Path) -> None:
    one = dataset(tmp_path / "one", {"1": "mouse A", "2": "mouse B", "3": "mouse C"}, {"8": "mouse X"})
    two = dataset(tmp_path / "two", {"4": "mouse D"}, {"2": "quite another text", "9": "Mouse, c."})
    first, second = training_corpora([one, two])
    assert [doc.id for doc in first.documents] == ["1"]
    assert first.left_out == {"same id": 1, "same text": 1}
    assert [doc.id for doc in second.documents] == ["4"]
    assert first.as_dict()["documents"] == 1
    assert first.licence == "not stated"


def test_leaves_out_documents_of_excluded_datasets(tmp_path: Path) -> None:
    one = dataset(tmp_path / "one", {"1": "mouse A", "2": "mouse B"}, {"8": "mouse X"})
    two = dataset(tmp_path / "two", {"1": "mouse D"}, {"2": "mouse Y"})
    (corpus,) = training_corpora([one], [two])
    assert [doc.id for doc in corpus.documents] == ["1"]


def test_leaves_out_documents_that_share_a_long_passage() -> None:
    known = EvaluationDocuments(frozenset(), frozenset({"".join(c for c in LONG.lower() if c.isalnum())}))
    inside = Document("7", f"Title. {LONG}", passages=(Passage(0, 6, "title"), Passage(7, 7 + len(LONG), "abstract")))
    assert known.reason(inside) == "same text"
    assert known.reason(Document("7", f"Title. {LONG}")) == ""


@pytest.mark.parametrize("name", ["askapatient-fold3", "hpo-gsc", "ncbi-disease-genbioel", "medmentions-st21pv"])
def test_rejects_datasets_that_may_not_be_redistributed(name: str) -> None:
    require_shippable(["ncbi-disease", "bc5cdr", "biored", "nlm-chem"])
    with pytest.raises(ConfigError, match=r"dataset-not-shippable") as error:
        require_shippable(["bc5cdr", name])
    assert error.value.code == "dataset-not-shippable"


@pytest.mark.slow
@pytest.mark.real_data
def test_training_documents_of_real_corpora_are_not_in_any_dev_or_test(real_data: Path, tmp_path: Path) -> None:
    datasets = [prepare(name, real_data, tmp_path / name) for name in ("ncbi-disease", "bc5cdr", "biored")]
    corpora = {corpus.name: corpus for corpus in training_corpora(datasets)}
    assert {name: sum(corpus.left_out.values()) for name, corpus in corpora.items()} == {
        "ncbi-disease": 4,
        "bc5cdr": 20,
        "biored": 99,
    }
    others = [doc for each in datasets for split in ("dev", "test") for doc in each.documents(split)]
    ids, texts = {doc.id for doc in others}, {"".join(filter(str.isalnum, doc.text.lower())) for doc in others}
    for corpus in corpora.values():
        assert ids.isdisjoint(doc.id for doc in corpus.documents)
        assert texts.isdisjoint("".join(filter(str.isalnum, doc.text.lower())) for doc in corpus.documents)
    train = {each.name: {doc.id for doc in each.documents("train")} for each in datasets}
    test = {each.name: {doc.id for doc in each.documents("test")} for each in datasets}
    assert len(train["biored"] & test["bc5cdr"]) == 53
    assert len(test["biored"] & train["bc5cdr"]) == 10
