"""Tests of opening a file, a folder or an archive as a source, which must not refer to files outside."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError, LimitError, OnymError
from onym.store.files.source import Source
from onym.store.limits import Limits
from tests.store.archives import CONTENT, MAKERS, UNPACKED, contents, folder_of, tar_of, zip_of


@pytest.mark.parametrize("maker", MAKERS)
def test_reads_the_same_files_from_folder_and_archives(tmp_path: Path, maker: str) -> None:
    source = Source.open(MAKERS[maker](tmp_path))
    assert contents(source) == UNPACKED
    assert {file.name: file.size for file in source.files} == {name: len(data) for name, data in CONTENT.items()}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in CONTENT.items()}
    assert {file.name: file.digest() for file in source.files} == digests


@pytest.mark.parametrize("maker", MAKERS)
def test_files_are_read_in_any_order_and_more_than_once(tmp_path: Path, maker: str) -> None:
    files = {file.name: file for file in Source.open(MAKERS[maker](tmp_path)).files}
    for name in (*sorted(files, reverse=True), *sorted(files), "b/a.obo"):
        with files[name].open() as stream:
            assert stream.read() == UNPACKED[name]
    with files["b/a.obo"].open() as one, files["META/MRCONSO.RRF"].open() as other:
        assert (other.read(4), one.read(2), other.read(4), one.read()) == (b"one\n", b"th", b"one\n", b"ree")


@pytest.mark.parametrize("maker", MAKERS)
def test_finds_a_file_without_its_compression_suffix(tmp_path: Path, maker: str) -> None:
    source = Source.open(MAKERS[maker](tmp_path))
    assert source.require("mrsty.rrf").name == "META/MRSTY.RRF.gz"
    assert [file.name for file in source.matching("mr*.rrf")] == ["META/MRCONSO.RRF", "META/MRSTY.RRF.gz"]
    assert source.find("none") is None
    with pytest.raises(InputError, match="input-missing"):
        source.require("none")


def test_single_file_is_a_source(tmp_path: Path) -> None:
    folder_of(tmp_path, {"hp.obo.gz": gzip.compress(b"text")})
    source = Source.open(tmp_path / "hp.obo.gz")
    assert contents(source) == {"hp.obo.gz": b"text"}
    assert source.files[0].stem == "hp.obo"


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to("nothing")]
)
def test_rejects_special_files_and_skips_them_in_folders(tmp_path: Path, make: Callable[[Path], object]) -> None:
    folder_of(tmp_path, {"a.txt": b"text"})
    make(tmp_path / "it")
    with pytest.raises(InputError, match="input-missing"):
        Source.open(tmp_path / "it")
    source = Source.open(tmp_path)
    assert contents(source) == {"a.txt": b"text"}
    assert [entry.name for entry in source.skipped] == ["it"]
    with pytest.raises(InputError):
        source.require_whole()


def test_require_whole_accepts_a_folder_without_skipped_entries(tmp_path: Path) -> None:
    folder_of(tmp_path, {"a.txt": b"text"})
    (tmp_path / "loop").symlink_to(".")
    source = Source.open(tmp_path)
    assert [(entry.name, entry.error) for entry in source.skipped] == [("loop", None)]
    assert source.require_whole() is source
    with pytest.raises(InputError, match="input-missing"):
        Source.open(tmp_path / "absent")


def test_rejects_a_name_with_nul() -> None:
    with pytest.raises(InputError, match="input-missing"):
        Source.open("a\x00b")


@pytest.mark.parametrize("maker", sorted(MAKERS.keys() - {"folder"}))
def test_rejects_an_archive_with_too_many_files(tmp_path: Path, maker: str) -> None:
    path = MAKERS[maker](tmp_path)
    assert len(Source.open(path, Limits(archive_members=4)).files) == 4
    with pytest.raises(LimitError, match="limit-members"):
        Source.open(path, Limits(archive_members=3))


@pytest.mark.parametrize("make", [zip_of, lambda path, content: tar_of(path, content, "w:gz")])
def test_rejects_a_bomb_in_an_archive(tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path]) -> None:
    path = make(tmp_path / "a", {"zeros": bytes(300_000)})
    with pytest.raises(LimitError, match="limit-ratio"):
        contents(Source.open(path, Limits(ratio=10, ratio_grace_bytes=10_000)))
    assert contents(Source.open(path)) == {"zeros": bytes(300_000)}


@pytest.mark.parametrize("maker", ["zip", "tar", "tar.gz"])
def test_rejects_a_truncated_archive(tmp_path: Path, maker: str) -> None:
    path = MAKERS[maker](tmp_path)
    whole = path.read_bytes()
    end = len(whole) if maker != "tar" else whole.rindex(b"three") + 512  # the end of a tar is padding, which may be cut off
    for left in {*range(0, end, 1 + end // 60), end - 1 if maker != "tar" else 600}:
        path.write_bytes(whole[:left])
        try:
            found = contents(Source.open(path))
        except OnymError:
            continue
        assert left < 300, left  # too short to be recognised as an archive: read as a plain file
        assert list(found) == [path.name]


@pytest.mark.parametrize("maker", ["zip", "tar", "tar.gz"])
@given(data=st.data())
def test_changed_bytes_give_a_result_or_a_coded_error(
    maker: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = MAKERS[maker](tmp_path_factory.mktemp("changed"))
    whole = bytearray(path.read_bytes())
    for _ in range(3):
        offset = data.draw(st.integers(0, len(whole) - 1))
        whole[offset] = data.draw(st.integers(0, 255))
    path.write_bytes(whole)
    with suppress(OnymError):
        contents(Source.open(path))


def test_archive_is_closed_when_unreferenced(tmp_path: Path) -> None:
    for maker in ("zip", "tar.gz"):
        source = Source.open(MAKERS[maker](tmp_path))
        contents(source)
        del source
    open_files = [path.resolve() for path in Path("/proc/self/fd").iterdir()]
    assert not [path for path in open_files if path.is_relative_to(tmp_path)]
