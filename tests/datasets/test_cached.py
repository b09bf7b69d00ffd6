"""Tests of opening a dataset by its folder, or by its name, which prepares it on first use."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.datasets import prepare
from onym.datasets.prepared import open_dataset
from onym.errors import ConfigError
from tests.datasets.made import write_species


def test_opens_a_folder(tmp_path: Path) -> None:
    made = prepare("s800", write_species(tmp_path), tmp_path / "made")
    assert open_dataset(str(tmp_path / "made")).digest == made.digest


def test_prepares_a_name_once_and_caches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ConfigError, match="config-invalid"):
        open_dataset("s800")
    first = open_dataset("s800", write_species(tmp_path / "data"))
    assert first.folder == tmp_path / "cache" / "datasets" / "s800"
    assert open_dataset("s800", tmp_path / "nothing").digest == first.digest


def test_rejects_what_is_neither_folder_nor_name() -> None:
    with pytest.raises(ConfigError, match="dataset-unknown"):
        open_dataset("no/such/folder")
