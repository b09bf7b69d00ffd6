"""Tests that benchmarks fail if a figure exceeds its bound; bounds on times apply only to full runs."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from benchmarks.__main__ import FOLDERS, ROOT, find_benchmarks, is_benchmark, main


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Replace the benchmark `ties` by a stub, and return its (mutable) figures."""
    found: dict[str, float] = {}
    bounds = {"UPPER_BOUNDS": {"wrong": 0}, "LOWER_BOUNDS": {"right": 1}, "FULL_BOUNDS": {"seconds": 1.0}}
    module = ModuleType("benchmarks.accuracy.ties", "made up")
    vars(module).update(bounds, run=lambda _: found)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return found


@pytest.mark.parametrize(
    ("found", "said"),
    [({"wrong": 1}, "wrong is over 0"), ({"right": 0}, "right is under 1"), ({"wrong": 0, "right": 1}, "")],
)
def test_fails_if_a_figure_exceeds_its_bound(
    figures: dict[str, float], capsys: pytest.CaptureFixture[str], found: dict[str, float], said: str
) -> None:
    figures.update(found)
    assert main(["ties", "--quick"]) == bool(said)
    assert capsys.readouterr().err.strip() == said


def test_time_bounds_apply_only_to_full_runs(figures: dict[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    figures["seconds"] = 1.5
    assert main(["ties", "--quick"]) == 0
    assert main(["ties"]) == 1
    assert capsys.readouterr().err.strip() == "seconds is over 1.0"


def test_benchmarks_are_found_by_their_file_names(capsys: pytest.CaptureFixture[str]) -> None:
    found = find_benchmarks()
    assert (found["import"], found["kb-fuzz"]) == ("benchmarks.speed.import_", "tests.robustness.files.kb_fuzz")
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    assert len(found) == sum(is_benchmark(path) for path in paths), "two have the same name"
    assert main(["--list", "tests/robustness"]) == 0
    assert "kb-fuzz" in (names := capsys.readouterr().out.split())
    assert "import" not in names
