"""Tests of writing reproducible archives."""

from __future__ import annotations

import hashlib
import random
import zipfile
from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.store.archive import WrittenMember, whole_archive
from onym.store.files.archives import zip_files
from onym.store.files.input_file import InputFile
from onym.store.limits import DEFAULT_LIMITS

NOISE = random.Random(1).randbytes(5_000_000)


def methods(path: Path) -> dict[str, int]:
    with zipfile.ZipFile(path) as archive:
        return {info.filename: info.compress_type for info in archive.infolist()}


def test_writes_bytes_files_and_archive_members(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"fever " * 1_000)
    for name in ("one.zip", "two.zip"):
        with whole_archive(tmp_path / name) as archive:
            found = archive.add("a.txt", tmp_path / "a.txt")
            archive.add("b/empty", b"")
            archive.add("b/c", InputFile.from_bytes("c", b"cough"))
    assert found == WrittenMember(6_000, hashlib.sha256(b"fever " * 1_000).hexdigest())
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "a.txt": b"fever " * 1_000,
            "b/empty": b"",
            "b/c": b"cough",
        }
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_stores_incompressible_members(tmp_path: Path) -> None:
    with whole_archive(tmp_path / "a.zip") as archive:
        archive.add("noise", NOISE)
        archive.add("text", b"a fever and a cough " * 1_000)
    assert methods(tmp_path / "a.zip") == {"noise": zipfile.ZIP_STORED, "text": zipfile.ZIP_DEFLATED}


@pytest.mark.parametrize(
    ("content", "method"),
    [
        (bytes(5_000_000), zipfile.ZIP_STORED),
        (bytes(3_000_000), zipfile.ZIP_DEFLATED),
        (bytes(2_000_000) + NOISE, zipfile.ZIP_DEFLATED),
    ],
)
def test_members_never_trip_the_bomb_check(tmp_path: Path, content: bytes, method: int) -> None:
    with whole_archive(tmp_path / "a.zip") as archive:
        archive.add("column.npy", content)
    assert methods(tmp_path / "a.zip") == {"column.npy": method}
    (member,) = zip_files(tmp_path / "a.zip", DEFAULT_LIMITS)
    with member.opener() as stream:
        assert stream.read() == content


def test_failed_archive_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="output-failed"), whole_archive(tmp_path / "a.zip") as archive:
        archive.add("no", tmp_path / "no")
    assert list(tmp_path.iterdir()) == []
