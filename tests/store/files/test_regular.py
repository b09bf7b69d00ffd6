"""Tests that only regular files are opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onym.errors import InputError
from onym.store.files.stream import open_regular, read_regular


def test_a_file_is_read_from_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with open_regular(tmp_path / "a") as file:
        assert file.read() == b"abc"
    assert file.closed


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link to a device", "nothing"])
def test_rejects_special_files_without_blocking(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link to a device":
        path.symlink_to("/dev/zero")
    with pytest.raises(OSError):  # noqa: PT011  # which one depends on what it is
        open_regular(Path("/dev/zero") if kind == "device" else path)


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").symlink_to("a")
    with open_regular(tmp_path / "b") as file:
        assert file.read() == b"abc"


def test_reads_at_most_max_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x1f\x8babc")
    assert read_regular(tmp_path / "a", 100) == b"\x1f\x8babc", "the raw bytes, not decompressed"
    assert read_regular(tmp_path / "a", 3) == b"\x1f\x8ba"


def test_unreadable_file_raises(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="input-missing"):
        read_regular(tmp_path / "none", 3)
    for path in (tmp_path, Path("/dev/zero")):
        with pytest.raises(InputError, match="input-unreadable"):
            read_regular(path, 3)
