"""Tests that the changelog, the package and pyproject.toml have the same version."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

import onym

ROOT = Path(__file__).parents[2]
RELEASES = re.findall(
    r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
)


def test_latest_release_is_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert RELEASES[0][0] == onym.__version__ == project["version"]


def test_releases_have_dates_in_descending_order() -> None:
    versions = [tuple(map(int, version.split("."))) for version, _ in RELEASES]
    dates = [date.fromisoformat(day) for _, day in RELEASES]
    assert versions == sorted(set(versions), reverse=True)
    assert dates == sorted(dates, reverse=True)
