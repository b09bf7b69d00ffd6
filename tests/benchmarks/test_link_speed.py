"""Tests of comparing two commits: both versions run alternately, and changed answers are counted."""

from __future__ import annotations

import json
import subprocess
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from benchmarks.commands import link_speed, unchanged
from benchmarks.commands.link_speed import compare, run
from benchmarks.link import earlier
from benchmarks.link.answers import count_changed_documents
from benchmarks.link.earlier import NotReachableError, command_of, python_of
from benchmarks.link.pipelines import files_of
from benchmarks.link.turns import take_turns

from onym.kb import KnowledgeBase
from onym.types import Document, Passage

DOCS = [Document(str(number), "No fever. A heart attack.", passages=(Passage(0, 25, "abstract"),)) for number in range(4)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def kb(tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    monkeypatch.setattr(link_speed, "_WARM_UP", 1)
    return KnowledgeBase.open(tiny_kb)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a repository with one commit that contains a stub of Onym, and return the commit."""
    root = tmp_path / "repository"
    (root / "src" / "onym").mkdir(parents=True)
    (root / "src" / "onym" / "__init__.py").write_text("WHEN = 'then'\n")
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    (root / "src" / "onym" / "__init__.py").write_text("WHEN = 'now'\n")
    monkeypatch.setattr(earlier, "ROOT", root)
    return subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def _when(commit: str) -> str:
    words = [*command_of(commit), "-c", "import numpy, onym; print(onym.WHEN)"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def test_environment_imports_onym_of_its_commit(repository: str) -> None:
    assert (_when(""), _when(repository)) == ("now", "then")


def test_concurrent_creation_of_an_environment(repository: str, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(python_of, [repository] * 2)
    assert first == second
    assert _when(repository) == "then"
    assert len(list((tmp_path / "cache" / "benchmarks").iterdir())) == 1


def test_rounds_alternate_their_order() -> None:
    calls: list[str] = []

    def call(name: str) -> str:
        calls.append(name)
        return name

    assert take_turns(lambda: call("now"), lambda: call("then"), 3) == [("now", "then")] * 3
    assert calls == ["now", "then", "then", "now", "now", "then"]


@pytest.mark.slow
def test_runs_this_version(kb: KnowledgeBase) -> None:
    figures = compare(kb, DOCS, [], rounds=1)
    assert (figures["documents"], figures["mentions"]) == (3, 8)
    assert figures["documents_per_s"]
    with pytest.raises(RuntimeError, match="both processes"):
        compare(kb, DOCS, command_of(), rounds=1)


def test_compares_versions(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([1.0, 3.0, 4.0, 2.0, 2.0, 4.0])  # both versions in alternating order: new, old; old, new; new, old

    def fake_link(python: list[str], folder: Path, name: str) -> dict[str, Any]:
        ids = ["a", "b", "c", "x" if name == "then" else "d"]
        lines = [json.dumps({"id": each, "links": [], "problems": []}) for each in ids]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
        return {"cpu_s": next(seconds), "wall_s": 6.0, "onym": name, "mentions": 8}

    monkeypatch.setattr(link_speed, "_run_link", fake_link)
    monkeypatch.setattr(link_speed, "_build", lambda *_: None)
    figures = compare(kb, DOCS, ["earlier"], rounds=3)
    assert (figures["documents_per_s"], figures["documents_per_s_before"]) == (1.5, 0.8)
    assert (figures["ratio_to_before"], figures["ratio_to_before_by_clock"], figures["answers_changed"]) == (2.0, 1.0, 1)


def test_missing_commit(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_speed, "BEFORE", "0" * 7)
    monkeypatch.setattr(link_speed, "abstracts", lambda: iter(DOCS))
    monkeypatch.setattr(link_speed, "hpo_kb", lambda: kb)
    monkeypatch.setattr(link_speed, "open_kb", lambda: kb)
    with pytest.raises(NotReachableError, match="git archive.*unshallow"):
        python_of("0" * 7)
    figures = run(Namespace(quick=True, documents=3, rounds=1))
    assert str(figures["before"]).startswith("not measured: git")
    assert "ratio_to_before" not in figures
    with pytest.raises(NotReachableError):
        run(Namespace(quick=False, documents=3, rounds=1))


@pytest.mark.parametrize("field", ["span", "concept_id", "candidates", "scores", "confidence", "nil_reason", "tied", "stage"])
def test_counts_a_change_of_any_field(tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str) -> None:
    link = {"span": [0, 5], "concept_id": "hp:1", "candidates": [["hp:1"]], "scores": [0.1], "confidence": 0.5}
    link |= {"nil_reason": None, "tied": 0, "stage": "exact"}
    now, then = tmp_path / "now.jsonl", tmp_path / "then.jsonl"
    same = json.dumps({"id": "1", "links": [link], "problems": []})
    now.write_text(f"{same}\n{same}\n")
    then.write_text(f"{same}\n" + json.dumps({"id": "1", "links": [link | {field: "other"}], "problems": []}) + "\n")
    assert (count_changed_documents(now, now), count_changed_documents(now, then)) == (0, 1)
    assert capsys.readouterr().err.endswith(f": {field}\n")


def test_detects_rewritten_files(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a")
    before = files_of(tmp_path)
    (tmp_path / ".lock").write_text("")
    assert files_of(tmp_path) == before
    (tmp_path / "index").write_text("ab")
    assert files_of(tmp_path) != before


def test_compares_times_per_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "first_answer", lambda _folder, commit: 2.0 if commit else 1.0)
    figures = unchanged.compare_first_answers(tmp_path, 3)
    assert figures == {"first_answer_s": 1.0, "first_answer_s_before": 2.0, "first_answer_ratio": 0.5}


def test_compares_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "source_of", lambda _: tmp_path)

    def scores(_folder: Path, commit: str, _root: Path, name: str) -> object:
        if name == "failing" and not commit:
            raise RuntimeError("a figure differs")
        return {"recall": 84.26 if commit or name == "same" else 84.27}

    monkeypatch.setattr(unchanged, "scores_of", scores)
    assert unchanged.compare_scores(tmp_path, ["same", "other", "failing"]) == {"scores": 3, "scores_changed": 2}


def test_quick_run_without_the_commit_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "BEFORE", "0" * 7)
    options = Namespace(quick=True, only=None, documents=0, rounds=0)
    assert str(unchanged.run(options)["before"]).startswith("not measured: git")
    with pytest.raises(NotReachableError):
        unchanged.run(Namespace(quick=False, only=None, documents=0, rounds=0))
