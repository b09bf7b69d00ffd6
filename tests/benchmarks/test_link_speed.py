"""The speed of linking raw text: both versions are really run, and changed answers are counted."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.commands import link_speed
from benchmarks.commands.link_speed import compare, run
from benchmarks.link.earlier import NotReachableError, python_of

from onym.kb import KnowledgeBase
from onym.types import Document, Passage

DOCS = [Document(str(number), "No fever. A heart attack.", passages=(Passage(0, 25, "abstract"),)) for number in range(4)]


@pytest.fixture
def kb(tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    monkeypatch.setattr(link_speed, "_WARM_UP", 1)
    return KnowledgeBase.open(tiny_kb)


@pytest.mark.slow
def test_this_version_is_run(kb: KnowledgeBase) -> None:
    figures = compare(kb, DOCS, [], rounds=1)
    assert (figures["documents"], figures["mentions"]) == (3, 8)
    assert figures["documents_per_s"]
    with pytest.raises(RuntimeError, match="both processes"):
        compare(kb, DOCS, [sys.executable], rounds=1)


def test_versions_are_compared(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def linked(python: list[str], *_: Any) -> dict[str, Any]:
        is_earlier = python == ["earlier"]
        digests = ["a", "b", "c", "x" if is_earlier else "d"]
        return {"cpu_s": 3.0 if is_earlier else 1.5, "wall_s": 6.0, "onym": python[0], "mentions": 8, "digests": digests}

    monkeypatch.setattr(link_speed, "_linked", linked)
    figures = compare(kb, DOCS, ["earlier"], rounds=2)
    assert (figures["documents_per_s"], figures["documents_per_s_before"]) == (2.0, 1.0)
    assert (figures["ratio_to_before"], figures["ratio_to_before_by_clock"], figures["answers_changed"]) == (2.0, 1.0, 1)


def test_an_earlier_commit_that_is_not_there(kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path))
    monkeypatch.setattr(link_speed, "BEFORE", "0" * 7)
    monkeypatch.setattr(link_speed, "abstracts", lambda: iter(DOCS))
    monkeypatch.setattr(link_speed, "hpo_kb", lambda: kb)
    monkeypatch.setattr(link_speed, "open_kb", lambda: kb)
    with pytest.raises(NotReachableError, match="git"):
        python_of("0" * 7)
    figures = run(Namespace(quick=True, documents=3, rounds=1))
    assert str(figures["before"]).startswith("not measured: git")
    assert "ratio_to_before" not in figures
    with pytest.raises(NotReachableError):
        run(Namespace(quick=False, documents=3, rounds=1))
