"""Tests that names of archive members that lead out of the archive are rejected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from onym.errors import InputError, LimitError
from onym.store.files.archives import require_few, require_safe_name
from onym.store.files.source import Source
from onym.store.limits import Limits
from tests.store.archives import contents, tar_of, zip_of

BAD_NAMES = ["/etc/passwd", "../a", "a/../../b", "a\\..\\..\\b", "\\a", "C:/a", "C:a", "..", "a/.."]


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("make", [zip_of, tar_of])
def test_rejects_names_that_lead_out(tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path], name: str) -> None:
    with pytest.raises(InputError, match="archive-path"):
        Source.open(make(tmp_path / "a", {"good": b"", name: b"x"}))


@pytest.mark.parametrize("name", ["a/./b", "a..b/c", "...", "a b/\u03b2", "dir/C:x"])
@pytest.mark.parametrize("make", [zip_of, tar_of])
def test_accepts_unusual_names_that_stay_inside(
    tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path], name: str
) -> None:
    assert contents(Source.open(make(tmp_path / "a", {name: b"x"}))) == {name: b"x"}


@pytest.mark.parametrize("name", ["", "a\x00b"])
def test_rejects_nul_and_empty_names(name: str) -> None:
    with pytest.raises(InputError, match="archive-path"):
        require_safe_name(name, "a.zip")


def test_member_limit_is_inclusive() -> None:
    require_few(3, "a.zip", Limits(archive_members=3))
    with pytest.raises(LimitError, match="limit-members"):
        require_few(4, "a.zip", Limits(archive_members=3))
