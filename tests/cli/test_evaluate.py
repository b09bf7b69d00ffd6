"""`onym evaluate` and `onym compare` as a person uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.datasets import prepare
from tests.cli.command import onym
from tests.datasets.made import write_biosyn, write_species
from tests.linkers.tiny_model import save_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate")
    prepare("ncbi-disease-biosyn", write_biosyn(folder), folder / "ncbi")
    prepare("s800", write_species(folder), folder / "s800")
    return folder


def test_a_linker_is_scored_shown_and_kept(folder: Path) -> None:
    words = ("--benchmark", "ncbi", "--linker", "exact", "--protocol", "any-id")
    done = onym("evaluate", *words, "--report", "page.html", "--save", "exact.jsonl", cwd=folder)
    assert "exact on ncbi-disease-biosyn (test)" in done.stdout
    assert "Unseen mentions" in done.stdout
    assert (folder / "page.html").read_text().startswith("<!doctype html>")
    again = onym("evaluate", "exact.jsonl", "--benchmark", "ncbi", "--protocol", "any-id", "--json", cwd=folder)
    assert json.loads(again.stdout)["recall_at_1"] == 1.0
    assert "output-exists" in onym("evaluate", *words, "--report", "page.html", cwd=folder, status=2).stderr


def test_a_generative_linker_is_scored(folder: Path) -> None:
    save_model(folder / "model")
    words = ("--benchmark", "ncbi", "--linker", "generative", "--model", "model", "--width", "3", "--json")
    told = json.loads(onym("evaluate", *words, "--save", "generative.jsonl", cwd=folder).stdout)
    assert 0 <= told["recall_at_1"] <= 1
    source = json.loads((folder / "generative.jsonl").read_text().splitlines()[0])["source"]
    assert (source["linker"]["linker"], source["linker"]["search"]["width"]) == ("generative", 3)


def test_two_systems_are_compared(folder: Path) -> None:
    for linker in ("exact", "tfidf"):
        onym("evaluate", "-b", "ncbi", "--linker", linker, "--save", f"{linker}-2.jsonl", cwd=folder)
    done = onym("compare", "exact-2.jsonl", "tfidf-2.jsonl", "-b", "ncbi", "--angel-t-test", cwd=folder)
    assert "McNemar" in done.stdout
    assert "any difference" in " ".join(done.stderr.split())
    assert json.loads(onym("compare", "exact-2.jsonl", "exact-2.jsonl", "-b", "ncbi", "--json", cwd=folder).stdout)[
        "mcnemar"
    ] == {"only_a": 0, "only_b": 0, "p_value": 1.0}


def test_end_to_end(folder: Path) -> None:
    (folder / "kb.tsv").write_text("id\tname\nncbitaxon:10090\tmouse\n")
    onym("kb", "build", "kb.tsv", "-o", "taxa", cwd=folder)
    found = "1|t|A mouse and a rat\n1|a|\n1\t2\t7\tmouse\tSpecies\t10090\n1\t14\t17\trat\tSpecies\t10116\n"
    (folder / "found.txt").write_text(found)
    words = ("evaluate", "found.txt", "-b", "s800", "--kb", "taxa", "--protocol", "bhowmik-strict")
    figures = json.loads(onym(*words, "--json", cwd=folder).stdout)
    assert (figures["precision"], figures["recall"]) == (0.5, 0.5)
    assert "precision\t0.5" in onym(*words, cwd=folder).stdout


def test_a_table_of_replaced_ids(folder: Path) -> None:
    (folder / "old.tsv").write_text("old\tnew\nmesh:D005334\tmesh:D000000\n")
    words = ("evaluate", "-b", "ncbi", "--linker", "exact", "--replaced", "old.tsv", "--json")
    assert json.loads(onym(*words, cwd=folder).stdout)["manifest"]["replaced_ids"] == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("-b", "ncbi"), "config-invalid"),
        (("-b", "ncbi", "--linker", "exact", "--protocol", "bhowmik-strict"), "config-invalid"),
        (("-b", "ncbi", "--linker", "exact", "--protocol", "accuracy"), "protocol-unknown"),
        (("-b", "ncbi", "--linker", "exact", "--split", "final"), "benchmark-split"),
        (("-b", "s800", "--linker", "exact"), "kb-needed"),
        (("-b", "none", "--linker", "exact"), "benchmark-unknown"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(folder: Path, words: tuple[str, ...], code: str) -> None:
    assert code in onym("evaluate", *words, cwd=folder, status=2).stderr
