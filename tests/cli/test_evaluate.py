"""Tests of `onym evaluate` and `onym compare` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.datasets import prepare
from tests.cli.command import onym
from tests.datasets.made import write_biosyn, write_species
from tests.support.models import save_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate")
    prepare("ncbi-disease-biosyn", write_biosyn(folder), folder / "ncbi")
    prepare("s800", write_species(folder), folder / "s800")
    return folder


def test_scores_a_linker_and_saves_predictions(folder: Path) -> None:
    words = ("--dataset", "ncbi", "--linker", "exact", "--protocol", "any-id")
    done = onym("evaluate", *words, "--report", "page.html", "--save", "exact.jsonl", cwd=folder)
    assert "exact on ncbi-disease-biosyn (test)" in done.stdout
    assert "Unseen mentions" in done.stdout
    assert (folder / "page.html").read_text().startswith("<!doctype html>")
    again = onym("evaluate", "exact.jsonl", "--dataset", "ncbi", "--protocol", "any-id", "--json", cwd=folder)
    assert json.loads(again.stdout)["recall_at_1"] == 1.0
    assert "output-exists" in onym("evaluate", *words, "--report", "page.html", cwd=folder, status=2).stderr


def test_prefer_is_passed_to_the_linker(folder: Path) -> None:
    onym("evaluate", "--dataset", "ncbi", "--linker", "exact", "--prefer", "omim", "--save", "omim.jsonl", cwd=folder)
    source = json.loads((folder / "omim.jsonl").read_text().splitlines()[0])["source"]
    assert source["order"] == {"ties": "decided", "vocabularies": ["omim", "mesh"]}


def test_scores_a_generative_linker(folder: Path) -> None:
    save_model(folder / "model")
    words = ("--dataset", "ncbi", "--linker", "generative", "--model", "model", "--width", "3", "--json")
    described = json.loads(onym("evaluate", *words, "--save", "generative.jsonl", cwd=folder).stdout)
    assert 0 <= described["recall_at_1"] <= 1
    source = json.loads((folder / "generative.jsonl").read_text().splitlines()[0])["source"]
    assert (source["linker"]["linker"], source["linker"]["search"]["width"]) == ("generative", 3)


def test_compares_two_systems(folder: Path) -> None:
    for linker in ("exact", "tfidf"):
        onym("evaluate", "-d", "ncbi", "--linker", linker, "--save", f"{linker}-2.jsonl", cwd=folder)
    done = onym("compare", "exact-2.jsonl", "tfidf-2.jsonl", "-d", "ncbi", "--angel-t-test", cwd=folder)
    assert "McNemar" in done.stdout
    onym("compare", "exact-2.jsonl", "tfidf-2.jsonl", "-d", "ncbi", "--report", "two.html", cwd=folder)
    assert "exact-2.jsonl against tfidf-2.jsonl" in (folder / "two.html").read_text()
    assert "any difference" in " ".join(done.stderr.split())
    assert json.loads(onym("compare", "exact-2.jsonl", "exact-2.jsonl", "-d", "ncbi", "--json", cwd=folder).stdout)[
        "mcnemar"
    ] == {"only_a": 0, "only_b": 0, "p_value": 1.0}


def test_rejects_missing_or_repeated_mentions(folder: Path) -> None:
    onym("evaluate", "-d", "ncbi", "--linker", "exact", "--save", "whole.jsonl", cwd=folder)
    head, first, *rest = (folder / "whole.jsonl").read_text().splitlines(keepends=True)
    (folder / "one.jsonl").write_text(head + first)
    (folder / "twice.jsonl").write_text("".join([head, first, first, *rest]))
    for name, code, note in (
        ("one", "predictions-partial", "1 of 3 mentions predicted"),
        ("twice", "predictions-repeated", "1 repeated"),
    ):
        for words in (("evaluate", f"{name}.jsonl"), ("compare", "whole.jsonl", f"{name}.jsonl")):
            assert code in onym(*words, "-d", "ncbi", cwd=folder, status=3).stderr
            assert note in " ".join(onym(*words, "-d", "ncbi", "--allow-partial", cwd=folder).stdout.split())
    reported = onym("evaluate", "one.jsonl", "-d", "ncbi", "--allow-partial", "--json", "--report", "one.html", cwd=folder)
    assert json.loads(reported.stdout)["coverage"] == {
        "unit": "mentions", "gold": 3, "covered": 1, "failed": 0, "repeated": 0, "not_in_gold": 0, "is_whole": False,
    }  # fmt: skip
    assert "1 of 3 mentions predicted" in (folder / "one.html").read_text()


@pytest.fixture(scope="module")
def taxa(folder: Path) -> Path:
    (folder / "kb.tsv").write_text("id\tname\nncbitaxon:10090\tmouse\n")
    onym("kb", "build", "kb.tsv", "-o", "taxa", cwd=folder)
    onym("pipeline", "build", "--kb", "taxa", "-o", "species", cwd=folder)
    return folder


def test_scores_a_corpus_with_predicted_mentions(taxa: Path) -> None:
    found = "1|t|A mouse and a rat\n1|a|\n1\t2\t7\tmouse\tSpecies\t10090\n1\t14\t17\trat\tSpecies\t10116\n"
    (taxa / "found.txt").write_text(found)
    words = ("evaluate", "found.txt", "-d", "s800", "--kb", "taxa", "--protocol", "bhowmik-strict")
    assert "1 of 2 documents predicted" in onym(*words, cwd=taxa, status=3).stderr
    figures = json.loads(onym(*words, "--allow-partial", "--json", cwd=taxa).stdout)
    assert (figures["precision"], figures["recall"]) == (0.5, 0.5)
    shown = onym(*words, "--allow-partial", cwd=taxa).stdout
    assert "found.txt on s800 (test)" in shown
    assert "* 1 of 2 documents predicted" in shown


def test_scores_a_pipeline_end_to_end(taxa: Path) -> None:
    words = ("evaluate", "--pipeline", "species", "-d", "s800")
    figures = json.loads(onym(*words, "--save", "found.jsonl", "--report", "found.html", "--json", cwd=taxa).stdout)
    assert (figures["precision"], figures["recall"], figures["errors"]["missed"]) == (1.0, 1.0, 0)
    assert "dictionary + exact on s800 (test)" in (taxa / "found.html").read_text()
    again = ("evaluate", "found.jsonl", "-d", "s800", "--kb", "taxa", "--protocol", "bhowmik-partial")
    assert "Recall by mention type, bhowmik-partial" in onym(*again, cwd=taxa).stdout


def test_counts_near_misses_if_the_knowledge_base_has_a_hierarchy(taxa: Path) -> None:
    (taxa / "tree.tsv").write_text(
        "id\tname\tparents\nncbitaxon:10088\tmouse\t\nncbitaxon:10090\tMus musculus\tncbitaxon:10088\n"
    )
    onym("kb", "build", "tree.tsv", "-o", "tree", cwd=taxa)
    onym("pipeline", "build", "--kb", "tree", "-o", "genus", cwd=taxa)
    for words, title in (
        (("--linker", "exact", "--kb", "tree"), "Errors by relation to the gold concept"),
        (("--pipeline", "genus"), "Wrong concepts by relation to the gold concept"),
    ):
        page = f"{words[0].strip('-')}.html"
        found = json.loads(onym("evaluate", *words, "-d", "s800", "--report", page, "--json", cwd=taxa).stdout)["near_misses"]
        assert (found["errors"], found["relations"]["parent"], found["farther_steps"]) == (2, 2, {})
        shown = " ".join(onym("evaluate", *words, "-d", "s800", cwd=taxa).stdout.split())
        assert title in shown
        assert "parent 2 100.0" in shown
        assert f">{title}</h2>" in (taxa / page).read_text()
        assert "<td>parent</td>" in (taxa / page).read_text()
    flat = onym("evaluate", "--linker", "exact", "--kb", "taxa", "-d", "s800", "--json", cwd=taxa)
    assert "near_misses" not in json.loads(flat.stdout)


def test_tunes_a_threshold(taxa: Path) -> None:
    words = ("pipeline", "tune", "species", "-d", "s800", "--split", "train")
    tuned = json.loads(onym(*words, "--json", cwd=taxa).stdout)
    assert (tuned["threshold"], tuned["dataset"]["split"]) == (1.0, "train")
    assert "threshold\t1.0" in onym(*words, cwd=taxa).stdout


def test_applies_a_table_of_replaced_ids(folder: Path) -> None:
    (folder / "old.tsv").write_text("old\tnew\nmesh:D005334\tmesh:D000000\n")
    words = ("evaluate", "-d", "ncbi", "--linker", "exact", "--replaced", "old.tsv", "--json")
    assert json.loads(onym(*words, cwd=folder).stdout)["manifest"]["replaced_ids"] == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("-d", "ncbi"), "config-invalid"),
        (("-d", "ncbi", "--linker", "exact", "--protocol", "bhowmik-strict"), "config-invalid"),
        (("-d", "s800", "--linker", "exact", "--pipeline", "species"), "config-invalid"),
        (("-d", "s800", "--pipeline", "species", "--protocol", "strict"), "config-invalid"),
        (("-d", "s800", "--pipeline", "species", "--prefer", "mesh"), "vocabulary-unknown"),
        (("-d", "ncbi", "--linker", "exact", "--prefer", "umls"), "vocabulary-unknown"),
        (("-d", "ncbi", "--pipeline", "species", "--kb", "ncbi/kb"), "kb-mismatch"),
        (("-d", "ncbi", "--linker", "exact", "--protocol", "accuracy"), "protocol-unknown"),
        (("-d", "ncbi", "--linker", "exact", "--split", "final"), "dataset-split"),
        (("-d", "s800", "--linker", "exact"), "kb-needed"),
        (("-d", "none", "--linker", "exact"), "dataset-unknown"),
    ],
)
def test_explains_usage_errors(taxa: Path, words: tuple[str, ...], code: str) -> None:
    assert code in onym("evaluate", *words, cwd=taxa, status=2).stderr


def test_compares_end_to_end_systems_by_f1_by_default(taxa: Path) -> None:
    """The first system has the lower recall but the higher F1, so the two measures rank the systems differently."""
    gold = "1|t|A mouse and a rat\n1|a|\n{}\n5|t|The Mouse\n5|a|\n{}"
    mouse, rat, other = "1\t2\t7\tmouse\tSpecies\t10090\n", "1\t14\t17\trat\tSpecies\t10116\n", "5\t0\t3\tThe\tSpecies\t10116\n"
    (taxa / "careful.pubtator").write_text(gold.format(mouse, ""))
    (taxa / "eager.pubtator").write_text(gold.format(mouse + "1\t8\t11\tand\tSpecies\t10116\n" + rat, other))
    onym("evaluate", "--pipeline", "species", "-d", "s800", "--save", "species.jsonl", cwd=taxa)
    words = ("-d", "s800", "--kb", "taxa")
    found = json.loads(onym("compare", "careful.pubtator", "eager.pubtator", *words, "--json", cwd=taxa).stdout)
    assert (found["protocol"], found["measure"]) == ("bhowmik-strict", "f1")
    assert found["shares"] == {"precision": [1.0, 0.25], "recall": [0.5, 0.5], "f1": [found["first"], found["second"]]}
    assert found["bootstrap"]["difference"] == pytest.approx(found["first"] - found["second"])
    assert found["bootstrap"].keys() == {"difference", "low", "high", "p_value"}
    shown = onym("compare", "species.jsonl", "careful.pubtator", *words, "--report", "found-two.html", cwd=taxa).stdout
    assert "species.jsonl against careful.pubtator, bhowmik-strict, 2 documents" in " ".join(shown.split())
    assert "difference of F1" in shown
    assert "Recall by mention type" in (taxa / "found-two.html").read_text()
    by_document = onym("compare", "species.jsonl", "careful.pubtator", *words, "--protocol", "document", "--json", cwd=taxa)
    assert json.loads(by_document.stdout)["protocol"] == "document"
    refused = onym("compare", "species.jsonl", "careful.pubtator", *words, "--angel-t-test", cwd=taxa, status=2)
    assert "drop --angel-t-test" in refused.stderr
    unknown = onym("compare", "species.jsonl", "careful.pubtator", *words, "--protocol", "accuracy", cwd=taxa, status=2).stderr
    assert "protocol-unknown" in unknown
    assert "biosyn, bhowmik-strict" in " ".join(unknown.split())


def test_scores_predictions_with_missed_mentions_end_to_end(taxa: Path) -> None:
    words = ("pipeline", "build", "--kb", "taxa", "-o", "long-names", "--detector-min-length", "9")
    onym(*words, cwd=taxa)
    onym("evaluate", "--pipeline", "long-names", "-d", "s800", "--save", "long-names.jsonl", cwd=taxa)
    again = onym("evaluate", "long-names.jsonl", "-d", "s800", "--kb", "taxa", "--json", cwd=taxa)
    assert json.loads(again.stdout)["protocol"] == "bhowmik-strict"
