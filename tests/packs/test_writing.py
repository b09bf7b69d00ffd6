"""Tests of writing a pack file: unchanged digests, no unrelated files, and no file after a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.packs.archive import whole_pack
from onym.store.models import folder_digest
from tests.support.models import save_reranker


def test_the_digest_of_a_model_is_that_of_its_folder(tmp_path: Path) -> None:
    folder = save_reranker(tmp_path / "model")
    (folder / "trees-2").mkdir()
    (folder / "trees-2" / "a.txt").write_text("a")
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    with whole_pack(tmp_path / "a.onymp") as pack:
        digest = pack.add_model("models/model", {path.relative_to(folder).as_posix(): path for path in paths})
    assert digest == folder_digest(folder)


def test_artefact_is_written_without_unrelated_files(tmp_path: Path, tiny_kb: Path) -> None:
    with whole_pack(tmp_path / "a.onymp") as pack:
        pack.add_artefact("kb", tiny_kb)
    version = (tiny_kb / "CURRENT").read_text().strip()
    assert all(name == "kb/CURRENT" or name.startswith(f"kb/{version}/") for name in pack.files)


def test_failed_write_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="pack-name"), whole_pack(tmp_path / "a.onymp") as pack:
        pack.add("../evil", b"")
    assert list(tmp_path.iterdir()) == []
