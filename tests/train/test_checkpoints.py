"""Checkpoints: one counts when all of it was on disk, and is still what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.train.checkpoints import SEAL, is_sealed, prune, seal, sealed_checkpoints


def checkpoint(folder: Path, number: int) -> Path:
    path = folder / f"checkpoint-{number}"
    (path / "optimizer_0").mkdir(parents=True)
    (path / "model.safetensors").write_bytes(b"weights")
    (path / "optimizer_0" / "__0_0.distcp").write_bytes(b"sharded")
    seal(path)
    return path


def test_the_latest_is_the_last_by_number(tmp_path: Path) -> None:
    for number in (100, 20, 3):
        checkpoint(tmp_path, number)
    (tmp_path / "checkpoint-last").mkdir()
    assert [path.name for path in sealed_checkpoints(tmp_path)] == ["checkpoint-3", "checkpoint-20", "checkpoint-100"]
    assert sealed_checkpoints(tmp_path / "none") == []


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer_0/__0_0.distcp"])
@pytest.mark.parametrize("how", ["gone", "short", "long"])
def test_a_torn_one_does_not_count(tmp_path: Path, name: str, how: str) -> None:
    good, torn = checkpoint(tmp_path, 1), checkpoint(tmp_path, 2)
    assert sealed_checkpoints(tmp_path) == [good, torn]
    file = torn / name
    if how == "gone":
        file.unlink()
    else:
        file.write_bytes(b"x" if how == "short" else file.read_bytes() + b"x")
    assert sealed_checkpoints(tmp_path) == [good]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"none": 1}'])
def test_a_broken_seal_does_not_count(tmp_path: Path, text: str) -> None:
    path = checkpoint(tmp_path, 1)
    (path / SEAL).write_text(text)
    assert not is_sealed(path)
    (path / SEAL).unlink()
    assert not is_sealed(path)


def test_one_that_is_sealed_again(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, 1)
    (path / "model.safetensors").write_bytes(b"other weights")
    assert not is_sealed(path)
    seal(path)
    assert is_sealed(path)


def test_all_but_those_that_are_kept_are_removed(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        checkpoint(tmp_path, number)
    (tmp_path / "checkpoint-2" / SEAL).unlink()
    (tmp_path / "other").mkdir()
    prune(tmp_path, {"checkpoint-1", "checkpoint-3"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-1", "checkpoint-3", "other"]
