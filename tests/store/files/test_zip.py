"""Tests of reading zip archives without unpacking them, and of rejecting hostile archives."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path
from unittest.mock import patch

import pytest

from onym.errors import InputError, LimitError
from onym.store.files.archives import is_zip
from onym.store.files.source import Source
from tests.store.archives import zip_of


def test_rejects_links(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("it")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(InputError, match="archive-path"):
        Source.open(tmp_path / "a.zip")


def test_limits_the_directory_before_parsing_it(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {f"{n}": b"" for n in range(100)})
    with patch("onym.store.files.archives._DIRECTORY", 1_000), pytest.raises(LimitError, match="limit-members"):
        Source.open(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_rejects_other_compression_methods(tmp_path: Path, method: int) -> None:
    with pytest.raises(InputError, match="archive-corrupt"):
        Source.open(zip_of(tmp_path / "a.zip", {"a": b"x" * 100}, method))


def test_detects_zip_by_its_start_or_end(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"a": b"x"})
    assert is_zip(path, path.read_bytes()[:512])
    path.write_bytes(b"#!/bin/sh\n" + path.read_bytes())
    assert is_zip(path, path.read_bytes()[:512])
    path.write_bytes(b"text")
    assert not is_zip(path, b"text")
