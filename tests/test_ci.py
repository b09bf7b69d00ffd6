"""Tests of CI: locked packages, permissive licences, jobs, cached environments and recorded durations."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

CI = Path(__file__).parents[1] / ".ci"
PROJECT = tomllib.loads((CI.parent / "pyproject.toml").read_text())
LINE = re.compile(r"([a-z0-9.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}")
BY_VERSION = ("torch", "onym")  # packages without a hash: torch is installed separately, and onym is the project itself


NEWEST = ("test", "hostile", "browser", "exchange", "tables", "lint", "docs")


def read_lock(name: str) -> dict[str, str]:
    lines = (CI / "locked" / f"{name}.txt").read_text().splitlines()
    found = [LINE.fullmatch(line) for line in lines]
    assert lines
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    return {match[1]: match[2] for match in found if match}


def read_requirements(*groups: str) -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"]
    rows = [*PROJECT["project"]["dependencies"], *(row for extra in extras.values() for row in extra)]
    rows += [row for group in groups for row in PROJECT["dependency-groups"][group]]
    return [each for each in map(Requirement, rows) if each.name not in BY_VERSION]


def key(requirement: Requirement) -> str:
    return requirement.name.lower().replace("_", "-")


@pytest.mark.parametrize(("name", "groups"), [("newest", NEWEST), ("lowest", ("test",))])
def test_each_requirement_is_locked(name: str, groups: tuple[str, ...]) -> None:
    versions = read_lock(name)
    for requirement in read_requirements(*groups):
        assert requirement.specifier.contains(versions[key(requirement)], prereleases=True), requirement


def test_the_lowest_versions_are_the_bounds() -> None:
    versions = read_lock("lowest")
    for requirement in read_requirements():
        (bound,) = (each for each in requirement.specifier if each.operator == ">=")
        assert versions[key(requirement)] in (bound.version, f"{bound.version}.0", f"{bound.version}.0.0"), requirement


def test_installer_is_locked() -> None:
    assert set(read_lock("uv")) == {"uv"}


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
def test_recognises_permissive_licences(monkeypatch: pytest.MonkeyPatch, licence: str, *, is_permissive: bool) -> None:
    monkeypatch.syspath_prepend(str(CI))
    check = runpy.run_path(str(CI / "licences.py"))["is_permissive"]
    assert check(licence) is is_permissive


def test_merges_coverage_of_source_and_installed_copy() -> None:
    coverage = runpy.run_path(str(CI / "coverage.py"))["coverage"]
    fast = {
        "src/onym/kb/build.py": {"executed_lines": [1, 2], "missing_lines": [3, 4]},
        "/venv/lib/onym/kb/build.py": {"executed_lines": [2, 3], "missing_lines": [1, 4]},
        "src/onym/types.py": {"executed_lines": [], "missing_lines": [1]},
    }
    slow = {"/venv/lib/onym/types.py": {"executed_lines": [1], "missing_lines": []}}
    assert coverage([{"files": fast}, {"files": slow}]) == (80.0, {"kb/build.py": 1, "types.py": 0})


QUICK = {"import", "starter", "round-trips", "decode-parity", "kb-hpo", "inputs-accounted", "ties"}


def jobs(script: str) -> set[str]:
    """Return the names of the jobs that a script runs with `queue`, in a loop, or directly."""
    lines = [line for line in (CI / script).read_text().splitlines() if not line.startswith("#")]
    found = re.findall(r"(?:queue|bash \.ci/job|for job in) ([a-z -]+)", "\n".join(lines))
    return {name for names in found for name in names.split()}


def test_change_run_has_the_checks_and_some_benchmarks() -> None:
    assert jobs("run") == QUICK | {"lint", "types", "docs", "tests"}


def test_full_run_has_all_tests_lowest_versions_and_all_benchmarks() -> None:
    assert jobs("full") == {"fast-tests", "slow-tests", "coverage", "lowest"}
    assert 'names="$(benchmarks)"\nqueue $names' in (CI / "full").read_text()


def test_tests_are_split_into_two_disjoint_sets() -> None:
    job = (CI / "job").read_text()
    assert 'fast-tests() { covered fast -m "not slow"; }' in job
    assert "slow-tests() { browser && covered slow -m slow; }" in job
    assert 'tests() { "${pytest[@]}" -m "not slow or ci"; }' in job
    assert 'addopts = ["-ra", "--strict-markers"' in (CI.parent / "pyproject.toml").read_text()


def program(folder: Path, name: str, text: str) -> None:
    """Write a fake program."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def run_job(name: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    (tmp_path / "notes").mkdir(exist_ok=True)
    environment = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "notes": str(tmp_path / "notes"), "work": str(tmp_path)}
    command = ["bash", str(CI / "job"), name]
    return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_reruns_only_failed_jobs(tmp_path: Path) -> None:
    for name in ("python", "lint-imports"):
        program(tmp_path / "bin", name, "exit 0")
    program(tmp_path / "bin", "ruff", "echo a finding; exit 1")
    for _ in range(2):
        failed = run_job("lint", tmp_path)
        assert (failed.returncode, "a finding" in failed.stdout) == (255, True)
    program(tmp_path / "bin", "ruff", f"echo >> {tmp_path / 'calls'}")
    assert [run_job("lint", tmp_path).returncode for _ in range(2)] == [0, 0]
    assert len((tmp_path / "calls").read_text().splitlines()) == 2  # `ruff check` and `ruff format` ran once each
    assert int((tmp_path / "notes" / "lint").read_text()) >= 0


def test_shows_benchmark_figures_or_the_full_output_on_failure(tmp_path: Path) -> None:
    said = 'echo "$*"; echo figures'
    program(tmp_path / "bin", "python", said)
    assert run_job("ties", tmp_path).stdout.endswith("s)\nfigures\n")
    program(tmp_path / "bin", "python", f"{said}; exit 1")
    failed = run_job("import", tmp_path)
    assert (failed.returncode, "benchmarks import --quick\nfigures" in failed.stdout) == (255, True)


PYTHON = """case "$1 $2" in
  "-m venv") mkdir -p "$3/bin" && for name in python pip uv; do cp "$0" "$3/bin/$name"; echo "# $3" >> "$3/bin/$name"; done ;;
  "-c "*) echo 3.11 ;;
  *) echo "$*" >> "$CALLS"; ! grep -qs -e "$1" "$CALLS.fail" ;;
esac"""


def make_environment(tmp_path: Path, name: str) -> subprocess.CompletedProcess[str]:
    program(tmp_path / "bin", "python3", PYTHON)
    environment = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "ONYM_CI_ENVIRONMENTS": str(tmp_path / "kept"),
        "CALLS": str(tmp_path / "calls"),
    }
    command = ["bash", str(CI / "environment"), "newest", str(tmp_path / name)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_packages_are_installed_once_and_the_project_each_time(tmp_path: Path) -> None:
    made = [make_environment(tmp_path, name) for name in ("first", "second")]
    assert [each.stdout for each in made] == ["made\n", "reused\n"], made[0].stderr
    calls = (tmp_path / "calls").read_text()
    assert calls.count(".ci/locked/newest.txt") == 1
    assert calls.count("--no-build-isolation .") == 2
    (kept,) = (tmp_path / "kept").glob("newest-*")
    assert str(kept) not in (tmp_path / "second" / "bin" / "pip").read_text()
    (kept / "complete").unlink()  # simulates an interrupted installation
    assert make_environment(tmp_path, "third").stdout == "made\n"


def test_failed_installation_is_not_cached(tmp_path: Path) -> None:
    (tmp_path / "calls.fail").write_text("install pip -m")
    failed = make_environment(tmp_path, "first")
    assert (failed.returncode == 0, failed.stdout) == (False, "")
    (tmp_path / "calls.fail").unlink()
    assert make_environment(tmp_path, "second").stdout == "made\n"


def seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    monkeypatch.setenv("ONYM_CI_FILE", str(tmp_path / "ci.json"))
    runpy.run_path(str(CI / "seconds.py"))["main"](*arguments)
    return json.loads((tmp_path / "ci.json").read_text())


def test_records_the_duration_of_each_kind_of_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in {"lint": "5\n", "tests": "300\n", "coverage-fast.json": "{}", ".lock": ""}.items():
        (notes / name).write_text(text)
    seconds(tmp_path, monkeypatch, "run", str(notes), "1000", "made")
    seconds(tmp_path, monkeypatch, "fast", "310")
    seconds(tmp_path, monkeypatch, "full", str(notes), "3000")
    assert seconds(tmp_path, monkeypatch, "run", str(notes), "700", "reused") == {
        "seconds": 700,
        "steps": {"lint": 5, "tests": 300},
        "reused": True,
        "last_reused_seconds": 700,
        "last_cold_seconds": 1000,
        "fast_tests_seconds": 310,
        "full_seconds": 3000,
        "full_steps": {"lint": 5, "tests": 300},
    }
