"""Tests of `onym link` on the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.errors import InputError
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.pipeline.folder import build_pipeline
from onym.text.queries import Query, queries_of
from onym.types import Document
from tests.cli.command import onym
from tests.cli.test_corpus import BAD, GOOD, TOTALS, mixture
from tests.store.artefact.rotten import rot
from tests.support.models import add_defaults, save_model, save_tokenizer

__all__ = ["mixture"]


@pytest.fixture
def folder(tmp_path: Path, tiny_kb: Path) -> Path:
    (tmp_path / "good.txt").write_text(GOOD)
    (tmp_path / "bad.txt").write_text(BAD)
    (tmp_path / "kb").symlink_to(tiny_kb)
    return tmp_path


def test_predictions(folder: Path) -> None:
    done = onym("link", "good.txt", "--kb", "kb", "-o", "p.jsonl", "--json", cwd=folder)
    file = {"name": "good.txt", "state": "read", "format": "pubtator", "code": "", "why": "", "documents": 1}
    file |= {"encoding": "", "text_columns": [], "id_column": ""}
    assert json.loads(done.stdout) == {
        "files": 1, "files_read": 1, "files_ignored": 0, "files_failed": 0, "inputs": [file],
        "documents": 1, "mentions": 1, "linked": 1, "tied": 0, "left_out": 0, "problems": 0, "output": "p.jsonl",
    }  # fmt: skip
    first, second = (folder / "p.jsonl").read_text().splitlines()
    assert json.loads(first)["source"]["linker"] == {"linker": "exact", "inflections": False}
    assert json.loads(second)["answers"] == [["mesh:D005334", 1.0, 0]]


def test_another_format_and_a_filter(folder: Path) -> None:
    words = ("--linker", "tfidf", "--types", "C14", "--format", "jsonl")
    assert "cannot store" not in onym("link", "good.txt", "--kb", "kb", "-o", "out.jsonl", *words, cwd=folder).stderr
    assert (
        "brat cannot store all passages (1 document)"
        in onym("link", "good.txt", "--kb", "kb", "-o", "brat", "--format", "brat", cwd=folder).stderr
    )
    mention = json.loads((folder / "out.jsonl").read_text())["mentions"][0]
    assert "mesh:D005334" not in mention.get("concept_ids", [])


@pytest.mark.parametrize(("prefer", "first"), [("", "mesh:D1"), ("mondo", "mondo:1")])
def test_ties_are_resolved_alike_in_all_outputs(tmp_path: Path, prefer: str, first: str) -> None:
    """If two concepts have the same name and score, all output formats give the same one as the answer."""
    for name, concept in (("a", "mesh:D1"), ("b", "mondo:1")):
        (tmp_path / f"{name}.tsv").write_text(f"id\tname\n{concept}\tcancer\n")
    build_kb(Recipe.of({"sources": [{"path": "a.tsv"}, {"path": "b.tsv"}]}), tmp_path / "kb", root=tmp_path)
    (tmp_path / "doc.txt").write_text("1|t|Cancer\n1|a|\n1\t0\t6\tCancer\tDisease\t-1\n")
    (tmp_path / "terms.tsv").write_text("term\ncancer\n")
    words = ("--prefer", prefer) if prefer else ()
    done = onym("link", "doc.txt", "--kb", "kb", "-o", "p.jsonl", "--top-k", "1", "--json", *words, cwd=tmp_path)
    assert json.loads(done.stdout)["tied"] == 1
    header, line = map(json.loads, (tmp_path / "p.jsonl").read_text().splitlines())
    assert header["source"]["order"]["vocabularies"][0] == first.partition(":")[0]
    assert (line["answers"], line["tied"]) == ([[first, 1.0, 0]], 1)
    onym("link", "doc.txt", "--kb", "kb", "-o", "out.txt", "--format", "pubtator", *words, cwd=tmp_path)
    assert first.partition(":")[2] in (tmp_path / "out.txt").read_text()
    onym("map", "terms.tsv", "--column", "term", "--kb", "kb", "-o", "m.tsv", "--linker", "exact", *words, cwd=tmp_path)
    assert (tmp_path / "m.tsv").read_text().splitlines()[1].split("\t")[1:7:5] == [first.upper(), "1"]
    onym("pipeline", "build", "--kb", "kb", "-o", "pipe", *words, cwd=tmp_path)
    onym("link", "doc.txt", "--pipeline", "pipe", "-o", "q.jsonl", cwd=tmp_path)
    assert json.loads((tmp_path / "q.jsonl").read_text().splitlines()[1])["answers"][0][0] == first
    onym("link", "doc.txt", "--pipeline", "pipe", "--prefer", "mondo", "-o", "r.jsonl", cwd=tmp_path)
    assert json.loads((tmp_path / "r.jsonl").read_text().splitlines()[1])["answers"][0][0] == "mondo:1"


def test_rejects_prefer_with_unknown_vocabulary(folder: Path) -> None:
    done = onym("link", "good.txt", "--kb", "kb", "-o", "p.jsonl", "--prefer", "umls", cwd=folder, status=2)
    assert "[vocabulary-unknown]" in done.stderr


def test_filters_by_concepts_from_a_file(folder: Path) -> None:
    (folder / "ids.txt").write_text("mesh:D009203\n\n")
    onym("link", "good.txt", "--kb", "kb", "-o", "p.jsonl", "--concepts", "ids.txt", "--types", "C14", cwd=folder)
    first, second = (folder / "p.jsonl").read_text().splitlines()
    assert json.loads(first)["source"]["concepts_allowed"] == 1
    assert json.loads(second)["answers"] == []


def test_reports_the_state_of_each_file(mixture: Path, tiny_kb: Path) -> None:
    words = ("link", "mixed", "--kb", str(tiny_kb), "-o", "p.jsonl")
    answer = json.loads(onym(*words, "--json", cwd=mixture, status=5).stdout)
    assert {key: answer[key] for key in TOTALS} == TOTALS
    assert (answer["documents"], answer["mentions"]) == (5, 1)
    done = onym(*words, "--force", cwd=mixture, status=5)
    assert done.stdout.startswith("files\t10\nignored\t2\nfailed\t3\ndocuments\t5\n")
    assert "failed: 7.txt: input-missing: " in done.stderr
    assert "ecret" not in (mixture / "p.jsonl").read_text() + done.stderr
    followed = json.loads(onym(*words, "--force", "--follow-links", "--json", cwd=mixture, status=5).stdout)
    assert (followed["documents"], followed["files_failed"]) == (6, 2)


def test_raw_text_without_a_pipeline_gets_a_hint(folder: Path) -> None:
    (folder / "raw.txt").write_text("High fever.")
    assert "--pipeline" in onym("link", "raw.txt", "--kb", "kb", "-o", "p.jsonl", cwd=folder).stderr
    assert "--pipeline" not in onym("link", "good.txt", "--kb", "kb", "-o", "q.jsonl", cwd=folder).stderr


def test_rejects_repeated_inputs(folder: Path) -> None:
    assert "config-invalid" in onym("link", "good.txt", "good.txt", "--kb", "kb", "-o", "p.jsonl", cwd=folder, status=2).stderr


def test_counts_unreadable_documents(folder: Path) -> None:
    done = onym("link", "bad.txt", "--kb", "kb", "-o", "p.jsonl", cwd=folder, status=5)
    assert "left out\t2" in done.stdout
    assert "ecret" not in done.stdout + done.stderr


def test_usage_errors_write_nothing(folder: Path) -> None:
    assert "part-unknown" in onym("link", "good.txt", "--kb", "kb", "-o", "p", "--linker", "x", cwd=folder, status=2).stderr
    assert "part-unknown" in onym("link", "good.txt", "--kb", "kb", "-o", "p", "--format", "x", cwd=folder, status=2).stderr
    assert (
        "format-read-only"
        in onym("link", "good.txt", "--kb", "kb", "-o", "p", "--format", "pubmed", cwd=folder, status=2).stderr
    )
    assert "filter-unknown" in onym("link", "good.txt", "--kb", "kb", "-o", "p", "--types", "x", cwd=folder, status=2).stderr
    assert not (folder / "p").exists()


@pytest.fixture
def with_model(folder: Path, tiny_kb: Path) -> Path:
    """Return the folder with a copy of the knowledge base, a model in ANGEL's format, and its tokenizer."""
    (folder / "kb").unlink()
    shutil.copytree(tiny_kb, folder / "kb")
    add_defaults(save_model(folder / "model", has_tokenizer=False))
    save_tokenizer(folder / "tokens")
    return folder


GENERATIVE = ("link", "good.txt", "--kb", "kb", "--linker", "generative")


def test_a_generative_linker(with_model: Path) -> None:
    words = ("--model", "model", "--tokenizer", "tokens", "-o", "p.jsonl", "--types", "C23,C14", "--top-k", "2", "--json")
    done = onym(*GENERATIVE, *words, "--search", "exact", "--ranking", "sum", "--width", "4", "--window", "32", cwd=with_model)
    assert json.loads(done.stdout)["linked"] == 1
    assert done.stderr == ""
    first, second = (with_model / "p.jsonl").read_text().splitlines()
    described = json.loads(first)["source"]["linker"]
    assert (described["linker"], described["model"], described["window"]) == ("generative", "model", 32)
    assert (described["search"]["search"], described["search"]["ranking"], described["search"]["top_k"]) == ("exact", "sum", 4)
    answers = json.loads(second)["answers"]
    assert len(answers) == 2
    assert {concept_id for concept_id, *_ in answers} <= {"mesh:D005334", "mesh:D006973", "mesh:D009203"}
    assert [path.name for path in (with_model / "kb" / "tries").glob("*/CURRENT")] == ["CURRENT"]


def test_generative_linker_with_concept_filter_and_corpus_format(with_model: Path) -> None:
    words = ("--model", "model", "--tokenizer", "tokens", "--template", "genre", "--types", "C23", "--format", "jsonl")
    onym(*GENERATIVE, *words, "--restrict", "-o", "out.jsonl", cwd=with_model)
    mention = json.loads((with_model / "out.jsonl").read_text())["mentions"][0]
    assert mention["concept_ids"] == ["mesh:D005334"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "model-missing"),
        (("--model", "model"), "tokenizer-missing"),
        (("--model", "model", "--search", "x"), "config-invalid"),
        (("--model", "model", "--ranking", "x"), "config-invalid"),
    ],
)
def test_usage_errors_of_the_generative_linker(with_model: Path, words: tuple[str, ...], code: str) -> None:
    assert code in onym(*GENERATIVE, *words, "-o", "p", cwd=with_model, status=2).stderr
    assert not (with_model / "p").exists()


TEXT = "High fever, then a heart attack.\n"


@pytest.fixture
def with_pipeline(folder: Path) -> Path:
    """Return the folder with a pipeline, and with texts in several formats."""
    build_pipeline(folder / "kb", folder / "p")
    (folder / "notes").mkdir()
    (folder / "notes" / "one.txt").write_text(TEXT)
    (folder / "one.txt").write_text("Pyrexia")
    return folder


def ids(path: Path) -> list[tuple[str, list[list[str]]]]:
    docs = [json.loads(line) for line in path.read_text().splitlines()]
    return [(doc["id"], [mention["concept_ids"] for mention in doc.get("mentions", [])]) for doc in docs]


def test_files_folders_and_formats_through_a_pipeline(with_pipeline: Path) -> None:
    words = ("good.txt", "notes", "one.txt", "--pipeline", "p", "--format", "jsonl", "-o", "out.jsonl", "--json")
    done = onym("link", *words, cwd=with_pipeline)
    counts = {"documents": 3, "mentions": 4, "linked": 4, "tied": 0, "left_out": 0, "problems": 0, "output": "out.jsonl"}
    answer = json.loads(done.stdout)
    assert {key: answer[key] for key in counts} == counts
    assert [file["name"] for file in answer["inputs"]] == ["good.txt", "notes/one.txt", "one.txt"]
    fever = ["mesh:D005334"]
    assert ids(with_pipeline / "out.jsonl") == [("1", [fever]), ("one", [fever, ["mesh:D009203"]]), ("one", [fever])]


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("to", ["pubtator", "bioc", "bioc_json", "brat", "jsonl", "parquet", "predictions"])
def test_writes_each_format_from_stdin(with_pipeline: Path, to: str) -> None:
    command = [sys.executable, "-m", "onym", "link", "-", "--pipeline", "p", "--format", to, "-o", "out"]
    done = subprocess.run(command, cwd=with_pipeline, input=TEXT, capture_output=True, text=True, check=True)
    assert "linked\t2" in done.stdout
    if to != "predictions":
        (doc,) = documents_of(read_corpus(with_pipeline / "out"))
        assert [mention.concept_ids for mention in doc.mentions] == [("mesh:D005334",), ("mesh:D009203",)]


@pytest.mark.parametrize("command", [("link", "one.txt"), ("map", "terms.csv", "--column", "term")])
def test_kb_and_pipeline_cannot_be_combined(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = onym(*command, "--kb", "kb", "--pipeline", "p", cwd=tmp_path, status=2)
    assert "--kb and --pipeline cannot be combined" in done.stderr


@pytest.mark.parametrize("command", [("link", "one.txt"), ("map", "terms.csv", "--column", "term")])
def test_linker_options_require_a_kb(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = onym(*command, "--linker", "exact", cwd=tmp_path, status=2)
    assert "give --kb" in done.stderr
    assert "starter (MONDO" not in done.stderr


@pytest.mark.parametrize("words", [("--kb", "kb", "--pipeline", "p"), ("--pipeline", "p", "--width", "3")])
def test_rejects_linker_options_with_a_pipeline(with_pipeline: Path, words: tuple[str, ...]) -> None:
    done = onym("link", "one.txt", *words, "-o", "out", cwd=with_pipeline, status=2)
    assert "config-invalid" in done.stderr
    assert not (with_pipeline / "out").exists()


def test_link_formats_store_all_evidence(with_pipeline: Path) -> None:
    onym("link", "notes", "good.txt", "--pipeline", "p", "--format", "jsonl", "-o", "out.jsonl", cwd=with_pipeline)
    found, annotated = map(json.loads, (with_pipeline / "out.jsonl").read_text().splitlines())
    assert found["schema"] == annotated["schema"] == "linked-document/2"
    fever = {"concept_id": "mesh:D005334", "name": "Fever", "score": 1.0}
    assert found["links"][0] == {"candidates": [fever], "detection_score": 1.0, "assertion": []}
    assert annotated["links"] == [{"candidates": [fever], "assertion": []}]
    onym("link", "notes", "--pipeline", "p", "-o", "p.jsonl", cwd=with_pipeline)
    assert json.loads((with_pipeline / "p.jsonl").read_text().splitlines()[1])["detection_score"] == 1.0


def test_assertion_marks(with_pipeline: Path) -> None:
    (with_pipeline / "no.txt").write_text("No fever, but a heart attack.")

    def link(name: str, *words: str) -> list[Any]:
        onym("link", *words, "-o", name, cwd=with_pipeline)
        return [json.loads(line) for line in (with_pipeline / name).read_text().splitlines()]

    header, *lines = link("out.jsonl", "no.txt", "--pipeline", "p")
    assert "assertion" not in header["source"]
    assert [line["assertion"] for line in lines] == [["negated"], []]
    header, *lines = link("off.jsonl", "no.txt", "--pipeline", "p", "--no-assertion")
    assert header["source"]["assertion"] is False
    assert not any("assertion" in line for line in lines)
    assert link("kb.jsonl", "good.txt", "--kb", "kb")[1]["assertion"] == []
    assert "assertion" not in link("kb-off.jsonl", "good.txt", "--kb", "kb", "--no-assertion")[1]
    onym("pipeline", "build", "--kb", "kb", "--no-assertion", "-o", "q", cwd=with_pipeline)
    assert link("q-off.jsonl", "no.txt", "--pipeline", "q") == link("off.jsonl", "no.txt", "--pipeline", "q", "--force")
    assert link("q.jsonl", "no.txt", "--pipeline", "q", "--assertion") == link(
        "out.jsonl", "no.txt", "--pipeline", "p", "--force"
    )


def test_a_format_without_assertion_marks_is_written_with_a_notice(with_pipeline: Path) -> None:
    (with_pipeline / "no.txt").write_text("No fever, but a heart attack.")
    words = ("link", "no.txt", "--pipeline", "p", "-o", "out.pubtator", "--force")
    notice = "pubtator cannot store assertion marks, such as negated: these mentions look affirmed (1 document)"
    assert onym(*words, cwd=with_pipeline).stderr.count(notice) == 1
    assert notice not in onym(*words, "--no-assertion", cwd=with_pipeline).stderr


@pytest.mark.parametrize(
    ("error", "status"), [(InputError("limit-record", "too long"), 5), (ValueError("secret fever"), 1)], ids=["error", "bug"]
)
def test_continues_after_a_document_that_cannot_be_linked(
    with_pipeline: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def failing(document: Document, *, expand: bool) -> list[Query]:
        if document.id == "one":
            raise error
        return queries_of(document, expand=expand)

    monkeypatch.setattr("onym.pipeline.link.queries_of", failing)
    words = ("good.txt", "notes", "--pipeline", "p", "-o", "out.jsonl", "--json")
    done = onym("link", *words, cwd=with_pipeline, status=status)
    counts = json.loads(done.stdout)
    assert (counts["documents"], counts["linked"], counts["problems"]) == (2, 1, 1)
    assert "secret" not in done.stdout + done.stderr
    lines = [json.loads(line) for line in (with_pipeline / "out.jsonl").read_text().splitlines()[1:]]
    assert [line["document"] for line in lines] == ["1", "one"]
    assert lines[1]["problem"]["code"] == ("limit-record" if status == 5 else "internal-error")
    assert "secret" not in json.dumps(lines)


def test_full_verification_rejects_a_corrupt_knowledge_base(folder: Path, tiny_kb: Path) -> None:
    shutil.copytree(tiny_kb, folder / "own")
    onym("link", "good.txt", "--kb", "own", "-o", "p.jsonl", cwd=folder)
    rot(folder / "own", "names.data.npy", -1, b"x")
    onym("link", "good.txt", "--kb", "own", "-o", "q.jsonl", cwd=folder)
    done = onym("link", "good.txt", "--kb", "own", "-o", "r.jsonl", "--verify", "full", cwd=folder, status=4)
    assert "artefact-corrupt" in done.stderr
    assert "names.data.npy was changed" in done.stderr
    assert not (folder / "r.jsonl").exists()
