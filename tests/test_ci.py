"""Tests of CI: locked packages, steps, and cached environments."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from benchmarks.__main__ import find_benchmarks
from packaging.requirements import Requirement

CI = Path(__file__).parents[1] / ".ci"
PROJECT = tomllib.loads((CI.parent / "pyproject.toml").read_text())
LINE = re.compile(r"([a-z0-9.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}")
BY_VERSION = ("torch", "onym")  # packages without a hash: torch is installed separately, and onym is the project itself


NEWEST = ("test", "hostile", "browser", "exchange", "tables", "lint", "docs", "release")


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


def run_script(script: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run a script that sources `.ci/setup`, with a folder of its own for environments."""
    environment = {**os.environ, "ONYM_CI_ENVIRONMENTS": str(tmp_path)}
    command = ["bash", "-c", f". {CI / 'setup'}\n{script}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_later_steps_run_after_a_failed_one_and_the_run_fails(tmp_path: Path) -> None:
    done = run_script("step false\nstep sleep 1 &\nstep echo later\nwait $!\nfinish", tmp_path)
    *_, failed, later, background, total = done.stdout.splitlines()
    assert done.returncode == 1
    assert failed.endswith("FAILED  false")
    assert later.endswith("passed  echo later")
    assert background.endswith("1 s  passed  sleep 1")
    assert total.endswith("in total")
    assert list(tmp_path.iterdir()) == [], "the work folder is removed"


def test_a_run_of_passed_steps_passes(tmp_path: Path) -> None:
    assert run_script("step true\nfinish", tmp_path).returncode == 0


def commands(script: str) -> list[str]:
    return [line for line in (CI / script).read_text().splitlines() if not line.startswith("#")]


def test_the_run_for_a_change_has_plain_commands_and_at_most_four_benchmarks() -> None:
    lines = commands("run")
    (names,) = (line.split()[1:] for line in lines if line.startswith("benchmarks "))
    assert len(names) <= 4
    assert set(names) <= set(find_benchmarks())
    for command in (
        "ruff check .",
        "mypy",
        "lint-imports",
        "pip-licenses",
        'python -m pytest -n 2 --dist worksteal -m "not slow or ci"',
    ):
        assert any(line.startswith(f"step {command}") for line in lines), command


def test_the_full_run_has_all_tests_lowest_versions_and_all_benchmarks() -> None:
    lines = commands("full")
    assert {"step test_all", "step check_coverage", "step test_lowest"} <= set(lines)
    assert any(line.startswith("benchmarks $(python -m benchmarks --list benchmarks)") for line in lines)
    (tests,) = (line for line in lines if "-m pytest" in line and "--dist" in line)
    assert "slow" not in tests


def program(folder: Path, name: str, text: str) -> None:
    """Write a fake program."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


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
    assert calls.count("--no-build-isolation --editable .") == 2
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
