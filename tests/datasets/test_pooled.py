"""Tests of pooling the same split of several datasets, without documents that are in another test split."""

from __future__ import annotations

from pathlib import Path

from onym.datasets.training import pool_documents
from tests.datasets.test_training import dataset


def test_pools_each_document_once_without_other_test_documents(tmp_path: Path) -> None:
    one = dataset(tmp_path / "one", {"1": "mouse A", "2": "mouse B", "3": "mouse C"}, {"8": "mouse X"})
    two = dataset(tmp_path / "two", {"1": "mouse A", "4": "mouse D", "5": "Mouse, x."}, {"2": "quite another text"})
    first, second = pool_documents([one, two], "train")
    assert [doc.id for doc in first] == ["1", "3"], "2 is tested with by its id"
    assert [doc.id for doc in second] == ["4"], "1 was there before, and 5 is tested with by its text"


def test_single_dataset_keeps_all_documents(tmp_path: Path) -> None:
    one = dataset(tmp_path / "one", {"1": "mouse A"}, {"1": "mouse A", "2": "mouse B"})
    for split, expected in (("train", ["1"]), ("test", ["1", "2"])):
        assert [[doc.id for doc in documents] for documents in pool_documents([one], split)] == [expected]
