"""Runs some cases of the suite `cli-environments`, and checks that it detects a traceback."""

from __future__ import annotations

import argparse

import pytest

from tests.robustness.cli import cli_environments
from tests.robustness.cli.cli_environments import DOCUMENTED, Case, Outcome, iter_cases, outcomes, run

CASES = {case.name: case for case in iter_cases()}


def test_there_are_enough_cases_and_some_are_quick() -> None:
    assert len(CASES) >= 40
    assert 10 <= sum(case.is_quick for case in CASES.values()) <= 20


@pytest.mark.slow
def test_some_cases() -> None:
    names = ("no words", "nobody reads: --version", "a pipe at the output: kb build kb.tsv", "the output '/dev/stdout'")
    assert [(each.case.name, each.status) for each in outcomes([CASES[name] for name in names]) if each.is_traceback] == []


@pytest.mark.parametrize(
    ("status", "output", "is_right"),
    [
        (3, b"Traceback (most recent call last):", True),
        (3, b"thread '<unnamed>' panicked at src/lib.rs:1", True),
        (1, b"[internal-error] ValueError in cli/app.py:1", True),
        (120, b"", True),
        (-11, b"", True),
        (0, b"", False),
    ],
)
def test_detects_traceback_unknown_status_and_damage(status: int, output: bytes, is_right: bool) -> None:
    assert Outcome(Case("x", ()), status, output, is_right).is_traceback


@pytest.mark.parametrize("status", sorted(DOCUMENTED))
def test_accepts_documented_exit_statuses(status: int) -> None:
    assert not Outcome(Case("x", ()), status, b"[input-missing] no such file", True).is_traceback


def test_suite_fails_if_there_is_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    bad = Outcome(Case("a bad case", ()), 1, b"Traceback", True)
    monkeypatch.setattr(cli_environments, "outcomes", lambda *_: [bad])
    with pytest.raises(SystemExit, match="'cases': 1, 'tracebacks': 1"):
        run(argparse.Namespace(quick=True))
    assert "FAILED    1  a bad case" in capsys.readouterr().err
