"""Tests that impossible outputs are rejected before the work starts, and that devices, pipes and links are not replaced."""

from __future__ import annotations

import io
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.store.output import STDOUT, require_artefact, require_file, require_folder, whole_file, whole_folder

REQUIRE: dict[str, Callable[..., None]] = {
    "file": require_file,
    "folder": require_folder,
    "artefact": lambda path, **_: require_artefact(path),
}
NOT_ROOT = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


def read_refusal(act: Callable[[], object]) -> str:
    with pytest.raises(ConfigError) as caught:
        act()
    return caught.value.code


@pytest.fixture
def others(tmp_path: Path) -> list[Path]:
    """A device, a pipe, a socket, and links that lead to a file, a folder and nowhere."""
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
    for name in ("file", "nowhere"):
        (tmp_path / f"to-{name}").symlink_to(tmp_path / name)
    return [Path("/dev/null"), *(tmp_path / name for name in ("pipe", "socket", "to-file", "to-nowhere"))]


@pytest.mark.parametrize("kind", REQUIRE)
def test_rejects_devices_pipes_sockets_and_links(others: list[Path], kind: str) -> None:
    assert {read_refusal(lambda path=path: REQUIRE[kind](path, force=True)) for path in others} == {"output-kind"}  # type: ignore[misc]


def test_does_not_replace_devices_pipes_sockets_and_links(others: list[Path]) -> None:
    def write(path: Path) -> None:
        with whole_file(path, force=True):
            pass

    before = [path.lstat() for path in others]
    assert {read_refusal(lambda path=path: write(path)) for path in others} == {"output-kind"}  # type: ignore[misc]
    assert [path.lstat() for path in others] == before


def test_error_for_dev_stdout_suggests_the_dash() -> None:
    with pytest.raises(ConfigError) as caught:
        require_file(Path("/dev/stdout"))
    assert caught.value.code == "output-kind"
    assert "--force" not in caught.value.fix
    assert "- is standard output" in caught.value.fix


def test_rejects_a_folder_for_a_file_and_vice_versa(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert read_refusal(lambda: require_file(tmp_path, force=True)) == "output-exists"
    assert read_refusal(lambda: require_folder(tmp_path / "file", force=True)) == "output-exists"
    assert read_refusal(lambda: require_artefact(tmp_path / "file")) == "output-exists"


def test_link_to_a_folder_is_accepted_for_artefacts_only(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    require_artefact(tmp_path / "link")
    assert read_refusal(lambda: require_folder(tmp_path / "link", force=True)) == "output-kind"
    require_file(tmp_path / "link" / "out.txt")


@pytest.mark.parametrize("kind", REQUIRE)
@pytest.mark.parametrize("path", ["{}/file/out", "{}/file/deep/out", "{}/nowhere/out", "{}/..", "/", "{}/new/..", "{}/a\0b"])
def test_rejects_impossible_output_paths(tmp_path: Path, kind: str, path: str) -> None:
    inner = tmp_path / "inner"  # a subfolder, so that `..` is still inside tmp_path
    inner.mkdir()
    (inner / "file").touch()
    (inner / "nowhere").symlink_to(tmp_path / "absent")
    assert read_refusal(lambda: REQUIRE[kind](Path(path.format(inner)))) in ("output-failed", "output-exists")


@NOT_ROOT
@pytest.mark.parametrize("kind", REQUIRE)
@pytest.mark.parametrize("mode", [0o500, 0o600])
def test_rejects_unwritable_folders(tmp_path: Path, kind: str, mode: int) -> None:
    tmp_path.chmod(mode)
    try:
        assert read_refusal(lambda: REQUIRE[kind](tmp_path / "out")) == "output-failed"
        assert read_refusal(lambda: REQUIRE[kind](tmp_path / "new" / "out")) == "output-failed"
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("kind", REQUIRE)
def test_checks_permissions_without_creating_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    assert read_refusal(lambda: REQUIRE[kind](tmp_path / "new" / "out")) == "output-failed"
    assert list(tmp_path.iterdir()) == [], "nothing may be created"


def test_artefact_accepts_an_empty_folder_and_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_artefact(tmp_path)
    (tmp_path / "other").touch()
    assert read_refusal(lambda: require_artefact(tmp_path)) == "output-exists"
    (tmp_path / ".lock").touch()
    require_artefact(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert read_refusal(lambda: require_artefact(tmp_path)) == "output-failed"


def test_file_can_be_written_to_standard_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    taken = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(taken, "utf-8"))
    with whole_file(STDOUT) as file:
        file.write(b"whole")
    assert taken.getvalue() == b"whole"
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(sys, "stdout", None)
    assert read_refusal(lambda: whole_file(STDOUT).__enter__()) == "output-failed"


@pytest.mark.parametrize("kind", REQUIRE)
def test_folder_cannot_be_written_to_standard_output(kind: str) -> None:
    assert read_refusal(lambda: REQUIRE[kind](STDOUT)) == "output-stdout"


def test_a_broken_pipe_is_not_a_failed_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))
    with pytest.raises(BrokenPipeError), whole_file(STDOUT):
        raise BrokenPipeError
    with pytest.raises(ConfigError, match="output-failed"), whole_file(STDOUT):
        raise OSError(28, "no space left on device")


def test_folder_output_rejects_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    assert read_refusal(lambda: whole_folder(tmp_path / "link", force=True).__enter__()) == "output-kind"
