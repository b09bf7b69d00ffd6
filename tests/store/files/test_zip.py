"""A zip archive is read as it lies, and its tricks are refused."""

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


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("it")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(InputError, match="archive-path"):
        Source.open(tmp_path / "a.zip")


def test_a_zip_directory_is_bounded_before_it_is_parsed(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {f"{n}": b"" for n in range(100)})
    with patch("onym.store.files.archives._DIRECTORY", 1_000), pytest.raises(LimitError, match="limit-members"):
        Source.open(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_packed_by_other_means_is_refused(tmp_path: Path, method: int) -> None:
    with pytest.raises(InputError, match="archive-corrupt"):
        Source.open(zip_of(tmp_path / "a.zip", {"a": b"x" * 100}, method))


def test_a_zip_is_known_by_either_end(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"a": b"x"})
    assert is_zip(path, path.read_bytes()[:512])
    path.write_bytes(b"#!/bin/sh\n" + path.read_bytes())
    assert is_zip(path, path.read_bytes()[:512])
    path.write_bytes(b"text")
    assert not is_zip(path, b"text")
