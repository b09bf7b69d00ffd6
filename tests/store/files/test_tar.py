"""Tests of reading tar archives sequentially, and of rejecting hostile archives."""

from __future__ import annotations

import tarfile
from pathlib import Path
from unittest.mock import patch

import pytest

from onym.errors import InputError
from onym.store.files.archives import is_tar
from onym.store.files.source import InputFile, Source
from tests.store.archives import contents, tar_of


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_rejects_links_and_devices(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("it")
    info.type, info.linkname = kind, "/etc/passwd"
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(info)
    with pytest.raises(InputError, match="archive-path"):
        Source.open(tmp_path / "a.tar")


def test_reads_members_in_order_in_one_pass(tmp_path: Path) -> None:
    content = {f"{n}.json": b"x" * 2_000 for n in range(50)}
    source = Source.open(tar_of(tmp_path / "a.tar.gz", content, "w:gz"))
    opens = []
    original = InputFile.open

    def count_open(file: InputFile) -> object:
        opens.append(file.name)
        return original(file)

    with patch.object(InputFile, "open", count_open):
        assert contents(source) == content
    assert opens.count("a.tar.gz") == 1


def test_detects_tar_by_its_first_header(tmp_path: Path) -> None:
    head = tar_of(tmp_path / "a.tar", {"a": b"x"}).read_bytes()[:512]
    assert is_tar(head)
    assert not is_tar(head[:200])
