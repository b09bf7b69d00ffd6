"""Tests of preparing a user's own corpus: splits, rejected input, and use as a dataset."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.datasets import PreparedDataset
from onym.datasets.base import SPLITS
from onym.datasets.own import SHARES, by_fold, by_shares, prepare_folds, prepare_own
from onym.errors import ConfigError, InputError, OnymError
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase

TEXTS = st.lists(st.text(max_size=3), max_size=60)


def rows(*numbers: int, ids: str = "D005334") -> str:
    return "\n".join(f"{n}|t|Fever {n}\n{n}|a|\n{n}\t0\t5\tFever\tDisease\t{ids}\n" for n in numbers)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "mine.pubtator"
    path.write_text(rows(*range(40)))
    return path


def ids_of(dataset: PreparedDataset) -> dict[str, list[str]]:
    return {split: [doc.id for doc in dataset.documents(split)] for split in dataset.splits}


@given(TEXTS, st.permutations(range(60)))
def test_splits_do_not_depend_on_document_order(texts: list[str], order: list[int]) -> None:
    again = [texts[at] for at in order if at < len(texts)]
    assert by_shares(texts, SHARES) == by_shares(again, SHARES)
    assert by_shares(texts, SHARES).keys() == set(texts)
    assert by_fold(texts, 1, 5) == by_fold(again, 1, 5)


@given(st.integers(1, 300))
def test_split_sizes_match_shares(count: int) -> None:
    found = list(by_shares([str(number) for number in range(count)], SHARES).values())
    for split, share in zip(SPLITS, SHARES, strict=True):
        assert abs(found.count(split) - share * count) <= 1


@given(st.integers(3, 8))
def test_each_document_is_in_test_of_one_fold(folds: int) -> None:
    texts = [str(number) for number in range(30)]
    tests = [text for fold in range(folds) for text, split in by_fold(texts, fold, folds).items() if split == "test"]
    assert sorted(tests) == sorted(texts)


def test_splits_files_by_shares(corpus: Path, tmp_path: Path) -> None:
    dataset = prepare_own("mine", [corpus], tmp_path / "out", shares=(0.5, 0.25, 0.25))
    found = ids_of(dataset)
    assert {split: len(ids) for split, ids in found.items()} == {"train": 20, "dev": 10, "test": 10}
    assert sorted(int(each) for ids in found.values() for each in ids) == list(range(40))
    assert (dataset.name, dataset.report["warnings"]) == ("mine", [])
    assert dataset.manifest.inputs[0].name == "mine.pubtator"


def test_same_text_is_in_one_split(tmp_path: Path) -> None:
    paths = []
    for number in range(2):
        paths.append(tmp_path / f"{number}.pubtator")
        paths[-1].write_text(rows(*range(40)))
    found = ids_of(prepare_own("mine", paths, tmp_path / "out"))
    assert all(ids.count(each) == 2 for ids in found.values() for each in ids)


def test_reads_files_by_split(corpus: Path, tmp_path: Path, tiny_kb: Path) -> None:
    test = tmp_path / "test.pubtator"
    test.write_text(rows(3, 100, 101))
    files = {"test": [test], "train": [corpus]}
    dataset = prepare_own("mine", files, tmp_path / "out", kb=KnowledgeBase.open(tiny_kb))
    assert (dataset.splits, dataset.report["splits"]["test"]["in_kb"]) == (("train", "test"), 3)
    assert dataset.report["warnings"][0].startswith("OVERLAP: 1 of 3 test mentions")


def test_prepares_folds(corpus: Path, tmp_path: Path) -> None:
    datasets = prepare_folds("mine", [corpus], tmp_path / "out", 4)
    assert [dataset.name for dataset in datasets] == ["mine-fold1", "mine-fold2", "mine-fold3", "mine-fold4"]
    found = [ids_of(dataset) for dataset in datasets]
    assert sorted(int(each) for ids in found for each in ids["test"]) == list(range(40))
    assert all(ids["dev"] == following["test"] for ids, following in zip(found, [*found[1:], found[0]], strict=True))


def test_own_dataset_can_be_evaluated(corpus: Path, tmp_path: Path, tiny_kb: Path) -> None:
    prepare_own("mine", [corpus], tmp_path / "out")
    task = EvaluationTask.open(str(tmp_path / "out"), "dev", kb=tiny_kb)
    assert (task.dataset.name, sum(1 for _ in task.texts())) == ("mine", 6)


def test_does_not_overwrite_without_force(corpus: Path, tmp_path: Path) -> None:
    prepare_own("mine", [corpus], tmp_path / "out")
    with pytest.raises(ConfigError, match="output-exists"):
        prepare_own("mine", [corpus], tmp_path / "out")
    prepare_own("mine", [corpus], tmp_path / "out", force=True)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (1.0, 0.0, 0.0), (0.5, 0.3, 0.3), (0.9, 0.2, -0.1)])
def test_rejects_invalid_shares(corpus: Path, tmp_path: Path, shares: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match="add up to 1"):
        prepare_own("mine", [corpus], tmp_path / "out", shares=shares)


@pytest.mark.parametrize("name", ["", "../mine", "a b", "x" * 65])
def test_rejects_invalid_names(corpus: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="invalid dataset name"):
        prepare_own(name, [corpus], tmp_path / "out")


def test_rejects_too_few_folds(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at least 3 folds"):
        prepare_folds("mine", [corpus], tmp_path / "out", 2)


def test_rejects_missing_empty_or_unreadable_files(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dataset-files"):
        prepare_own("mine", [corpus, tmp_path / "no.pubtator"], tmp_path / "out")
    with pytest.raises(InputError, match="dataset-files"):
        prepare_own("mine", [], tmp_path / "out")
    corpus.write_text(rows(1, 2, 3, ids="-1"))
    with pytest.raises(InputError, match="dataset-empty"):
        prepare_own("mine", [corpus], tmp_path / "out")
    (tmp_path / "torn.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00torn")
    with pytest.raises(OnymError):
        prepare_own("mine", [tmp_path / "torn.jsonl.gz"], tmp_path / "out")
    assert not (tmp_path / "out" / "CURRENT").exists()
