"""Tests that hostile desks and corrections are rejected or harmless, and that the suite reports what executes."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.store import sqlite
from tests.robustness.files.desk_hostile import STATEMENTS, judge_files


def test_hostile_files_are_rejected_or_harmless(tmp_path: Path, tiny_kb: Path) -> None:
    found = judge_files(tmp_path, KnowledgeBase.open(tiny_kb), 80, seed=3)
    assert (found["desks"], found["corrections"], found["crashed"], found["executed"]) == (80, 80, 0, 0)
    assert found["refused"] > 60


def test_suite_detects_a_trigger_that_runs(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_require_format", lambda *_: None)
    plain = partial(sqlite3.connect, uri=True, isolation_level=None, check_same_thread=False)
    monkeypatch.setattr(sqlite, "_connect", plain)
    found = judge_files(tmp_path, KnowledgeBase.open(tiny_kb), 1)
    assert STATEMENTS[0].startswith("CREATE TRIGGER")
    assert found["executed"] == 1


def test_suite_detects_a_journal_that_deletes_a_file(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_require_harmless_beside", lambda *_: None)
    assert judge_files(tmp_path, KnowledgeBase.open(tiny_kb), 40, seed=3)["executed"] > 0
