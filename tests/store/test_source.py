"""A release is one file, a folder or an archive; nothing in it leads out of it."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError, LimitError, OnymError
from onym.store.limits import Limits
from onym.store.source import InputFile, Source

CONTENT = {
    "META/MRCONSO.RRF": b"one\n" * 1000,
    "META/MRSTY.RRF.gz": gzip.compress(b"two\n"),
    "readme.txt": b"",
    "b/a.obo": b"three",
}
UNPACKED = {**CONTENT, "META/MRSTY.RRF.gz": b"two\n"}


def folder_of(path: Path, content: dict[str, bytes]) -> Path:
    for name, data in content.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def zip_of(path: Path, content: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def tar_of(path: Path, content: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


MAKERS: dict[str, Callable[[Path], Path]] = {
    "folder": lambda path: folder_of(path / "release", CONTENT),
    "zip": lambda path: zip_of(path / "release.zip", CONTENT),
    "stored zip": lambda path: zip_of(path / "release.zip", CONTENT, zipfile.ZIP_STORED),
    "tar": lambda path: tar_of(path / "release.tar", CONTENT),
    "tar.gz": lambda path: tar_of(path / "release.tar.gz", CONTENT, "w:gz"),
}


def contents(source: Source) -> dict[str, bytes]:
    found = {}
    for file in source.files:
        with file.open() as stream:
            found[file.name] = stream.read()
    return found


@pytest.mark.parametrize("maker", MAKERS)
def test_a_release_is_the_same_however_it_is_packed(tmp_path: Path, maker: str) -> None:
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
def test_a_file_is_found_by_its_name_without_its_packing(tmp_path: Path, maker: str) -> None:
    source = Source.open(MAKERS[maker](tmp_path))
    assert source.require("mrsty.rrf").name == "META/MRSTY.RRF.gz"
    assert [file.name for file in source.matching("mr*.rrf")] == ["META/MRCONSO.RRF", "META/MRSTY.RRF.gz"]
    assert source.find("none") is None
    with pytest.raises(InputError, match="input-missing"):
        source.require("none")


def test_one_file_is_a_release(tmp_path: Path) -> None:
    folder_of(tmp_path, {"hp.obo.gz": gzip.compress(b"text")})
    source = Source.open(tmp_path / "hp.obo.gz")
    assert contents(source) == {"hp.obo.gz": b"text"}
    assert source.files[0].stem == "hp.obo"


def test_a_file_counts_as_read_at_its_end(tmp_path: Path) -> None:
    file = InputFile.from_path(folder_of(tmp_path, {"a": b"x" * 5000}) / "a")
    with file.open() as stream:
        stream.read(10)
    before = file.was_read
    with file.open() as stream:
        stream.read()
    assert (before, file.was_read) == (False, True)
    (tmp_path / "a").write_bytes(b"changed")
    assert file.digest() == hashlib.sha256(b"x" * 5000).hexdigest()  # of what was read


@pytest.mark.parametrize("size", [3, 2_000])
def test_the_head_of_a_file(size: int) -> None:
    data = bytes(range(1, 251)) * 20
    file = InputFile.from_bytes("a", gzip.compress(data[:size]))
    assert [file.head(most) for most in (2, 64, 10_000, 2)] == [data[:2], data[: min(64, size)], data[:size], data[:2]]


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to("nothing"), lambda _: None]
)
def test_what_is_no_file_is_refused_and_left_out_of_a_folder(tmp_path: Path, make: Callable[[Path], object]) -> None:
    folder_of(tmp_path, {"a.txt": b"text"})
    make(tmp_path / "it")
    with pytest.raises(InputError, match="input-missing"):
        Source.open(tmp_path / "it")
    assert contents(Source.open(tmp_path)) == {"a.txt": b"text"}


def test_a_name_with_nul_is_refused() -> None:
    with pytest.raises(InputError, match="input-missing"):
        Source.open("a\x00b")


def test_a_file_that_goes_away_is_told_with_a_code(tmp_path: Path) -> None:
    file = InputFile.from_path(folder_of(tmp_path, {"a": b"x"}) / "a")
    (tmp_path / "a").unlink()
    with pytest.raises(InputError, match="input-unreadable"), file.open():
        pass


BAD_NAMES = ["/etc/passwd", "../a", "a/../../b", "a\\..\\..\\b", "\\a", "C:/a", "C:a", "..", "a/.."]


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("make", [zip_of, tar_of])
def test_names_that_lead_out_are_refused(tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path], name: str) -> None:
    with pytest.raises(InputError, match="archive-path"):
        Source.open(make(tmp_path / "a", {"good": b"", name: b"x"}))


@pytest.mark.parametrize("name", ["a/./b", "a..b/c", "...", "a b/\u03b2", "dir/C:x"])
@pytest.mark.parametrize("make", [zip_of, tar_of])
def test_odd_names_that_stay_inside_pass(tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path], name: str) -> None:
    assert contents(Source.open(make(tmp_path / "a", {name: b"x"}))) == {name: b"x"}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("it")
    info.type, info.linkname = kind, "/etc/passwd"
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(info)
    with pytest.raises(InputError, match="archive-path"):
        Source.open(tmp_path / "a.tar")


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("it")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(InputError, match="archive-path"):
        Source.open(tmp_path / "a.zip")


@pytest.mark.parametrize("maker", MAKERS)
def test_too_many_files_are_refused(tmp_path: Path, maker: str) -> None:
    path = MAKERS[maker](tmp_path)
    assert len(Source.open(path, Limits(archive_members=4)).files) == 4
    with pytest.raises(LimitError, match="limit-members"):
        Source.open(path, Limits(archive_members=3))


def test_a_zip_directory_is_bounded_before_it_is_parsed(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {f"{n}": b"" for n in range(100)})
    with patch("onym.store.source._ZIP_DIRECTORY", 1_000), pytest.raises(LimitError, match="limit-members"):
        Source.open(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_packed_by_other_means_is_refused(tmp_path: Path, method: int) -> None:
    with pytest.raises(InputError, match="archive-corrupt"):
        Source.open(zip_of(tmp_path / "a.zip", {"a": b"x" * 100}, method))


@pytest.mark.parametrize("make", [zip_of, lambda path, content: tar_of(path, content, "w:gz")])
def test_a_bomb_in_an_archive_is_refused(tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path]) -> None:
    path = make(tmp_path / "a", {"zeros": bytes(300_000)})
    with pytest.raises(LimitError, match="limit-ratio"):
        contents(Source.open(path, Limits(ratio=10, ratio_grace_bytes=10_000)))
    assert contents(Source.open(path)) == {"zeros": bytes(300_000)}


@pytest.mark.parametrize("maker", ["zip", "tar", "tar.gz"])
def test_an_archive_cut_anywhere_is_refused(tmp_path: Path, maker: str) -> None:
    path = MAKERS[maker](tmp_path)
    whole = path.read_bytes()
    end = len(whole) if maker != "tar" else whole.rindex(b"three") + 512  # what follows in a tar is filling
    for left in {*range(0, end, 1 + end // 60), end - 1 if maker != "tar" else 600}:
        path.write_bytes(whole[:left])
        try:
            found = contents(Source.open(path))
        except OnymError:
            continue
        assert left < 300, left  # too short to be known as an archive: a file of its own
        assert list(found) == [path.name]


@pytest.mark.parametrize("maker", ["zip", "tar", "tar.gz"])
@given(data=st.data())
def test_a_changed_byte_never_gives_anything_but_an_answer_or_a_code(
    maker: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = MAKERS[maker](tmp_path_factory.mktemp("changed"))
    whole = bytearray(path.read_bytes())
    for _ in range(3):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    path.write_bytes(whole)
    with suppress(OnymError):
        contents(Source.open(path))


def test_an_archive_is_closed_when_nobody_needs_it(tmp_path: Path) -> None:
    for maker in ("zip", "tar.gz"):
        source = Source.open(MAKERS[maker](tmp_path))
        contents(source)
        del source
    opened = [path.resolve() for path in Path("/proc/self/fd").iterdir()]
    assert not [path for path in opened if path.is_relative_to(tmp_path)]


def test_one_pass_over_a_tar_serves_all_members_in_order(tmp_path: Path) -> None:
    content = {f"{n}.json": b"x" * 2_000 for n in range(50)}
    source = Source.open(tar_of(tmp_path / "a.tar.gz", content, "w:gz"))
    opened = []
    original = InputFile.open

    def counted(file: InputFile) -> object:
        opened.append(file.name)
        return original(file)

    with patch.object(InputFile, "open", counted):
        assert contents(source) == content
    assert opened.count("a.tar.gz") == 1
