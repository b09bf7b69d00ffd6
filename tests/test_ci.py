"""What CI installs: locked by hashes, as the project asks for it, under licences that allow any use."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

CI = Path(__file__).parents[1] / ".ci"
PROJECT = tomllib.loads((CI.parent / "pyproject.toml").read_text())
LINE = re.compile(r"([a-z0-9.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}")
BY_VERSION = ("torch", "onym")  # installed before the others, and the project itself


NEWEST = ("test", "hostile", "browser", "exchange", "tables", "lint", "docs")


def locked(name: str) -> dict[str, str]:
    lines = (CI / "locked" / f"{name}.txt").read_text().splitlines()
    found = [LINE.fullmatch(line) for line in lines]
    assert lines
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    return {match[1]: match[2] for match in found if match}


def required(*groups: str) -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"]
    rows = [*PROJECT["project"]["dependencies"], *(row for name in extras if name != "testing" for row in extras[name])]
    rows += [row for group in groups for row in PROJECT["dependency-groups"][group]]
    return [each for each in map(Requirement, rows) if each.name not in BY_VERSION]


def key(requirement: Requirement) -> str:
    return requirement.name.lower().replace("_", "-")


@pytest.mark.parametrize(("name", "groups"), [("newest", NEWEST), ("lowest", ("test",))])
def test_each_requirement_is_locked(name: str, groups: tuple[str, ...]) -> None:
    versions = locked(name)
    for requirement in required(*groups):
        assert requirement.specifier.contains(versions[key(requirement)], prereleases=True), requirement


def test_the_lowest_versions_are_the_bounds() -> None:
    versions = locked("lowest")
    for requirement in required():
        (bound,) = (each for each in requirement.specifier if each.operator == ">=")
        assert versions[key(requirement)] in (bound.version, f"{bound.version}.0", f"{bound.version}.0.0"), requirement


def test_what_installs_the_others_is_locked() -> None:
    assert set(locked("uv")) == {"uv"}


@pytest.mark.parametrize(
    ("licence", "is_permissive"),
    [
        ("MIT", True),
        ("BSD-3-Clause", True),
        ("Mozilla Public License 2.0 (MPL 2.0)", True),
        ("GNU General Public License v3 (GPLv3)", False),
        ("LGPL-2.1-or-later", False),
        ("MIT AND GPL-3.0-only", False),
        ("", False),
    ],
)
def test_which_licences_are_permissive(monkeypatch: pytest.MonkeyPatch, licence: str, *, is_permissive: bool) -> None:
    monkeypatch.syspath_prepend(str(CI))
    check = runpy.run_path(str(CI / "licences.py"))["is_permissive"]
    assert check(licence) is is_permissive


def test_a_line_that_ran_in_either_copy_is_covered() -> None:
    coverage = runpy.run_path(str(CI / "coverage.py"))["coverage"]
    files = {
        "src/onym/kb/build.py": {"executed_lines": [1, 2], "missing_lines": [3, 4]},
        "/venv/lib/onym/kb/build.py": {"executed_lines": [2, 3], "missing_lines": [1, 4]},
        "src/onym/types.py": {"executed_lines": [], "missing_lines": [1]},
        "/venv/lib/onym/types.py": {"executed_lines": [1], "missing_lines": []},
    }
    assert coverage({"files": files}) == (80.0, {"kb/build.py": 1, "types.py": 0})
