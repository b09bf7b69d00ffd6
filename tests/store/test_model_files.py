"""Tests that links and special files that lead out of a model folder are rejected."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onym.errors import InputError, LimitError
from onym.store.limits import Limits
from onym.store.models import find_model_file, model_files


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    (folder / "1_Pooling").mkdir(parents=True)
    for name in ("config.json", "1_Pooling/config.json", "code.py", ".hidden"):
        (folder / name).write_text("{}")
    (tmp_path / "outside.json").write_text("{}")
    (tmp_path / "outside").mkdir()
    return folder


def names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in model_files(folder)]


def test_includes_subfolders_and_skips_code(model: Path) -> None:
    assert names(model) == ["1_Pooling/config.json", "config.json"]


def test_accepts_links_inside_the_folder(model: Path) -> None:
    (model / "1_Pooling" / "more.json").symlink_to("../config.json")
    assert "1_Pooling/more.json" in names(model)


def test_accepts_a_model_folder_that_is_a_link(model: Path, tmp_path: Path) -> None:
    (tmp_path / "named").symlink_to(model)
    assert names(tmp_path / "named") == names(model)


def bind_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(path.parent)
        server.bind(path.name)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to("../outside.json"),
        lambda path: path.symlink_to(path.parent.parent / "outside.json"),
        lambda path: path.symlink_to("../outside"),
        lambda path: path.symlink_to("1_Pooling"),
        lambda path: path.symlink_to("."),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to("nothing.json"),
        lambda path: path.symlink_to(path.name),
        os.mkfifo,
        bind_socket,
    ],
)
def test_rejects_links_that_lead_out_and_special_files(
    model: Path, make: Callable[[Path], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model)
    make(model / "more.json")
    with pytest.raises(InputError, match="model-outside") as caught:
        model_files(model)
    assert caught.value.where == str(model / "more.json")
    with pytest.raises(InputError, match="model-outside"):
        find_model_file(model, "more.json")


def test_rejects_a_link_in_a_subfolder_that_leads_out(model: Path, tmp_path: Path) -> None:
    (model / "names").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="model-outside"):
        model_files(model)


def test_finds_a_file_by_name(model: Path) -> None:
    assert find_model_file(model, "config.json") == model / "config.json"
    assert find_model_file(model, "none.json") is None


def hub(root: Path, blobs: str = "blobs") -> Path:
    """Create a model as in the hub's cache: a snapshot folder with links to blobs."""
    folder = root / "models--lab--one" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    (root / "models--lab--one" / "blobs").mkdir()
    (root / "models--lab--one" / blobs / "123").write_text("{}")
    (folder / "config.json").symlink_to(f"../../{blobs}/123")
    return folder


def test_disk_errors_are_not_reported_as_missing_files(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (model / "model.safetensors").touch()

    def fail(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "lstat", fail)
    with pytest.raises(InputError, match="input-unreadable"):
        find_model_file(model, "model.safetensors")


def test_accepts_links_of_a_hub_snapshot_to_its_blobs(tmp_path: Path) -> None:
    folder = hub(tmp_path)
    assert names(folder) == ["config.json"]
    (folder / "more.json").symlink_to("../other.json")
    (folder.parent / "other.json").write_text("{}")
    with pytest.raises(InputError, match="model-outside"):
        model_files(folder)


def test_rejects_blobs_that_are_a_link(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "123").write_text("{}")
    folder = tmp_path / "models--lab--one" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    (tmp_path / "models--lab--one" / "blobs").symlink_to(tmp_path / "secret")
    (folder / "config.json").symlink_to("../../blobs/123")
    with pytest.raises(InputError, match="model-outside"):
        model_files(folder)


def test_too_many_files_are_rejected(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.store.models.DEFAULT_LIMITS", Limits(archive_members=2))
    with pytest.raises(LimitError, match="limit-members"):
        model_files(model)


def test_missing_folder_raises(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="input-unreadable"):
        model_files(tmp_path / "none")
