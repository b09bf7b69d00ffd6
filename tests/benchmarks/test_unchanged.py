"""Tests of comparing two versions: both run alternately, each builds its own pipelines, and changed answers are counted."""

from __future__ import annotations

import gzip
import json
import subprocess
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from benchmarks.commands import unchanged
from benchmarks.commands.link_speed import measure
from benchmarks.commands.unchanged import Comparison
from benchmarks.link import earlier, inputs, worker
from benchmarks.link.answers import compare_documents, read_rows, read_terms
from benchmarks.link.earlier import NotReachableError, Version
from benchmarks.link.pipelines import Pipelines
from benchmarks.link.turns import Process, run_alone, take_turns

from onym.kb import KnowledgeBase
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.pipeline import Pipeline, build_pipeline
from onym.types import Document, Passage

LINK = {"start": 3, "end": 8, "text": "fever", "id": "mesh:D005334", "score": 0.5, "confidence": None}
ABSTRACT = "7|t|Fever\n7|a|A fever.\n7\t0\t5\tFever\tDisease\tD005334"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONYM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with two commits, `then` and `later`, of a stub of Onym, and an uncommitted change to `now`."""
    root = tmp_path / "repository"
    (root / "src" / "onym").mkdir(parents=True)
    stub = root / "src" / "onym" / "__init__.py"
    git(root, "init", "-q")
    for when in ("then", "later"):
        stub.write_text(f"WHEN = '{when}'\n")
        git(root, "add", ".")
        git(root, "commit", "-qm", when)
    stub.write_text("WHEN = 'now'\n")
    monkeypatch.setattr(earlier, "ROOT", root)
    return root


def git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def when_of(version: Version) -> str:
    words = [*version.command, "-c", "import numpy, onym; print(onym.WHEN)"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def test_environment_imports_onym_of_its_commit(repository: Path) -> None:
    assert [when_of(version) for version in (Version(), Version.of("HEAD"), Version.of("HEAD~1"))] == ["now", "later", "then"]


def test_default_is_origin_main_or_else_the_parent_of_head(repository: Path) -> None:
    assert Version.of() == Version.of("HEAD~1")
    git(repository, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert Version.of() == Version.of("HEAD")
    assert Version.of().commit == git(repository, "rev-parse", "HEAD")[:12]


def test_concurrent_creation_of_an_environment(repository: Path, tmp_path: Path) -> None:
    commit = Version.of("HEAD~1").commit
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda commit: Version(commit).folder, [commit] * 2)
    assert first == second
    assert when_of(Version(commit)) == "then"
    assert len(list((tmp_path / "cache" / "benchmarks").iterdir())) == 1


def test_quick_run_without_the_commit_measures_nothing(repository: Path) -> None:
    options = Namespace(quick=True, before="0" * 40, only=None, differences=None, rounds=0)
    assert str(unchanged.run(options)["before"]).startswith("not measured: git")
    with pytest.raises(NotReachableError, match="unshallow"):
        unchanged.run(Namespace(**vars(options) | {"quick": False}))


def test_rounds_alternate_their_order() -> None:
    calls: list[str] = []

    def call(name: str) -> str:
        calls.append(name)
        return name

    assert take_turns(lambda: call("now"), lambda: call("then"), 3) == [("now", "then")] * 3
    assert calls == ["now", "then", "then", "now", "now", "then"]


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({}, []),
        ({"start": 2}, ["start", "end", "start", "end"]),
        ({"end": 9}, ["start", "end", "start", "end"]),
        ({"id": None}, ["id"]),
        ({"score": 0.50002}, ["score"]),
        ({"score": 0.500009}, []),
        ({"score": None}, ["score"]),
        ({"confidence": 0.0}, ["confidence"]),
        ({"id": "mesh:D1", "score": 0.1}, ["id", "score"]),
        ({"text": "Fever"}, []),
    ],
)
def test_compares_the_fields_of_the_first_answer(change: dict[str, Any], fields: list[str]) -> None:
    before = [{"document": "1", "links": [LINK]}]
    changes = compare_documents([{"document": "1", "links": [LINK | change]}], before)
    assert [field for row in changes for field in row["fields"]] == fields
    assert {row["document"] for row in changes} <= {"1"}


def test_compares_links_of_the_same_span_in_order() -> None:
    other = LINK | {"id": "mesh:D1"}
    now, before = ([{"document": "1", "links": links}] for links in ([LINK, other], [LINK]))
    assert compare_documents(now, before) == [{"document": "1", "fields": ["start", "end"], "now": other, "before": None}]
    assert compare_documents(now, now) == []


def test_rejects_answers_for_different_documents() -> None:
    with pytest.raises(RuntimeError, match="different documents: 1 and 2"):
        compare_documents([{"document": "1", "links": []}], [{"document": "2", "links": []}])


def test_reads_mapped_terms(tmp_path: Path) -> None:
    row = {"name": "fever", "concept_id": "mesh:D005334", "score": 0.5, "confidence": None, "candidates": "..."}
    (tmp_path / "mapped.jsonl").write_text(json.dumps(row) + "\n")
    assert read_terms(tmp_path / "mapped.jsonl", "name") == [{"document": "1", "links": [LINK | {"start": 0, "end": 5}]}]


def test_reports_differences_without_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"document": "1", "fields": ["id"], "now": LINK, "before": LINK | {"id": None}}] * 2
    unchanged._report({"exact": rows, "map": []}, tmp_path / "differences.jsonl")
    assert capsys.readouterr().err == "exact: document 1: id\n"
    assert read_rows(tmp_path / "differences.jsonl") == [{"pipeline": "exact", **row} for row in rows]


def test_builds_a_pipeline_once_for_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(self: Pipelines, *arguments: object) -> Process:
        commands.append([str(word) for word in arguments])
        Path(commands[-1][-1]).mkdir()
        return Process("", 0.0)

    monkeypatch.setenv("ONYM_DATA", str(tmp_path))
    monkeypatch.setattr(Pipelines, "run", run)
    pipelines = Pipelines(Version(), tmp_path / "now", is_quick=True)
    folder = pipelines.locate("exact")
    assert pipelines.locate("exact") == folder != pipelines.locate("tfidf")
    assert [words[2:4] for words in commands] == [["kb", "build"], ["pipeline", "build"], ["pipeline", "build"]]
    monkeypatch.setattr("benchmarks.link.pipelines._SMALL", "name = 'other'")
    assert pipelines.locate("exact") != folder


def test_writes_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        inputs.CDR: f"{ABSTRACT}\n\n" * 4,
        inputs.NCBI: f"{ABSTRACT.replace('7', '8')}\n\n",
        inputs._EVERYDAY: json.dumps({"id": "A1", "text": "No fever."}),
        inputs._DRUGS: "name\tdrug\naspirin\tAspirin\n",
        inputs._HPO: "[Term]\nid: HP:1\nname: Fever\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    monkeypatch.setenv("ONYM_DATA", str(tmp_path))
    citation = Document("9", "A title.\nOne.\nTwo.", passages=(Passage(0, 8), Passage(9, 13), Passage(14, 18)))
    monkeypatch.setattr(inputs, "abstracts", lambda: iter([citation] * 9))
    inputs.write_inputs(tmp_path, 5, 2)
    read = {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()}
    raw = "\n".join(ABSTRACT.split("\n")[:2])
    assert read == {
        "annotated.pubtator": f"{ABSTRACT}\n\n" * 4 + f"{ABSTRACT.replace('7', '8')}\n\n",
        "texts.pubtator": f"{raw.replace('7', '8')}\n\n{raw}\n\n" + "9|t|A title.\n9|a|One. Two.\n\n" * 3,
        "everyday.pubtator": "A1|t|No fever.\nA1|a|\n\n",
        "names.tsv": "name\naspirin\nFever\n",
    }
    assert inputs.read_texts(1) == ["Fever A fever."]
    with pytest.raises(ValueError, match="found 5 annotated documents instead of 10"):
        inputs.write_inputs(tmp_path, 10, 2)


@pytest.fixture
def comparison(tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Comparison:
    """Return this version compared with itself, with one tiny pipeline."""
    build_pipeline(tiny_kb, tmp_path / "tiny")
    monkeypatch.setattr(Pipelines, "locate", lambda _self, _name: str(tmp_path / "tiny"))
    (tmp_path / "texts.pubtator").write_text("1|t|High fever\n1|a|No heart attack.\n\n" * 2)
    return Comparison(Pipelines(Version(), tmp_path / "now"), Pipelines(Version(), tmp_path / "before"), tmp_path)


@pytest.mark.slow
def test_worker_links_all_documents(comparison: Comparison) -> None:
    rows = []
    for mode in ([], ["single"]):
        paths = comparison.folder / "texts.pubtator", comparison.folder / "rows.jsonl"
        figures = json.loads(comparison.now.run(worker.__file__, comparison.now.locate(""), *paths, *mode).output)
        assert figures["documents_per_s"] > 0
        assert 10 < figures["memory_mb"] < 2_000
        rows.append(read_rows(paths[1]))
    assert rows[0] == rows[1]
    assert [(link["text"], link["id"]) for link in rows[0][1]["links"]] == [
        ("fever", "mesh:D005334"),
        ("heart attack", "mesh:D009203"),
    ]


@pytest.mark.slow
def test_rejects_two_processes_with_the_same_onym(comparison: Comparison) -> None:
    with pytest.raises(RuntimeError, match="both processes imported Onym from"):
        comparison.take_turns("exact", "texts", 1)


def test_ratios_are_medians_of_pairs(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"now": iter([2, 4, 9, 3] * 6), "before": iter([4, 4, 6, 4] * 6)}

    def run(self: Pipelines, *_arguments: object) -> Process:
        count = next(counts[self.folder.name])
        return Process(json.dumps({"onym": self.folder.name, "documents_per_s": count, "memory_mb": 10 * count}), count)

    monkeypatch.setattr(Pipelines, "run", run)
    figures = unchanged.compare_speeds(comparison, 4)
    assert figures["documents_per_s"] == {name: [3.5, 4.0] for name in ("exact", "tfidf", "starter", "by_type")}
    assert figures["speed_ratio"] == figures["by_type_single_ratio"] == 0.875
    assert unchanged.compare_memory(comparison, 4) == {
        "memory_mb": [35.0, 40.0],
        "memory_ratio": 0.875,
        "memory_ratio_single": 0.875,
    }


def test_compares_times_of_first_answers(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    output = "MESH:D001249 Asthma"
    monkeypatch.setattr(Pipelines, "run", lambda self, *_: Process(output, 1.0 if self.folder.name == "now" else 2.0))
    figures = {"first_answer_s": [1.0, 2.0], "first_answer_ratio": 0.5}
    assert unchanged.compare_first_answers(comparison, 3) == figures
    output = "nothing"
    with pytest.raises(RuntimeError, match="asthma is missing"):
        unchanged.compare_first_answers(comparison, 3)


def test_compares_scores(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Pipelines(Version("abc"), comparison.folder)

    def scores(version: Version, name: str, _folder: Path) -> object:
        if name == "failing" and not version.commit:
            raise RuntimeError("a figure differs")
        return {"recall": 84.26 if version.commit or name == "same" else 84.27}

    monkeypatch.setattr(unchanged, "scores_of", scores)
    pair = Comparison(comparison.now, before, comparison.folder)
    assert unchanged.compare_scores(pair, ["same", "other", "failing"]) == {"scores": 3, "scores_changed": 2}


def test_a_failing_command_raises(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="exit status 3: broken"):
        run_alone([*Version().command, "-c", "import sys; sys.stderr.write('broken'); sys.exit(3)"], tmp_path)


def test_link_speed_counts_mentions(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    docs = [Document(str(number), "No fever. A heart attack.") for number in range(3)]
    figures = measure(Pipeline(ExactLinker(kb), DictionaryDetector(kb)), docs, 2)
    assert (figures["documents"], figures["mentions"]) == (3, 6)
    assert float(str(figures["documents_per_s"])) > 0
