"""Tests of unpacking listed files from an archive."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from onym.errors import IntegrityError, LimitError
from onym.store.archive import WrittenMember, read_member, require_plausible, unpack
from onym.store.files.input_file import InputFile
from onym.store.limits import Limits

FILE = InputFile.from_bytes("a", b"fever")
LISTED = WrittenMember(5, hashlib.sha256(b"fever").hexdigest())


def test_writes_files_at_their_listed_paths(tmp_path: Path) -> None:
    unpack({"a": FILE, "b/c/d": FILE}, {"b/c/d": LISTED, "a": LISTED}, tmp_path)
    assert (tmp_path / "b" / "c" / "d").read_bytes() == (tmp_path / "a").read_bytes() == b"fever"


@pytest.mark.parametrize("listed", [LISTED._replace(bytes=4), LISTED._replace(bytes=6), LISTED._replace(sha256="0" * 64)])
def test_rejects_a_file_that_differs_from_the_list(tmp_path: Path, listed: WrittenMember) -> None:
    with pytest.raises(IntegrityError, match="pack-corrupt"):
        unpack({"a": FILE}, {"a": listed}, tmp_path)


def test_does_not_decompress_gzip_members(tmp_path: Path) -> None:
    data = b"\x1f\x8b\x08\x00 is how gzip begins"
    unpack({"a": InputFile.from_bytes("a", data)}, {"a": WrittenMember(len(data), hashlib.sha256(data).hexdigest())}, tmp_path)
    assert (tmp_path / "a").read_bytes() == data


def test_read_member_rejects_large_members() -> None:
    assert read_member(FILE, 5) == b"fever"
    with pytest.raises(LimitError, match="limit-manifest"):
        read_member(FILE, 4)


def test_limits_the_total_unpacked_size() -> None:
    limits = Limits(unpacked_bytes=10_000, ratio=10, ratio_grace_bytes=100)
    require_plausible({"a": WrittenMember(100, ""), "b": WrittenMember(0, "")}, 1, limits, "a")
    require_plausible({"a": WrittenMember(1_000, "")}, 100, limits, "a")
    with pytest.raises(LimitError, match="limit-ratio"):
        require_plausible({"a": WrittenMember(60, ""), "b": WrittenMember(60, "")}, 1, limits, "a")
    with pytest.raises(LimitError, match="limit-unpacked"):
        require_plausible({"a": WrittenMember(10_001, "")}, 10_001, limits, "a")
