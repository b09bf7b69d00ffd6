"""Tests that the adapters of other tools give known answers on three documents, and that answers are judged alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.rivals.adapters.serving import Request
from benchmarks.rivals.comparison_page import COMING_FROM, PAGE, PLOT, draw_plot, fill_coming_from, fill_page
from benchmarks.rivals.environments import export_base, rivals_folder, run_system
from benchmarks.rivals.rivals import RESULTS, cross_validate
from benchmarks.rivals.systems import SYSTEMS, System
from benchmarks.rivals.tasks import Judge, Judgement, RivalTask, judgement_of_counts, p_value
from benchmarks.rivals.texts import annotated_texts

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.types import Document, Mention

MI, FEVER = "mesh:D009203", "mesh:D005334"
TEXTS = ("Fever after a heart attack.", "Myocardial infarction and pyrexia were seen.", "Nothing was found.")
SPANS = {
    "Fever after a heart attack.": {(0, 5): FEVER, (14, 26): MI},
    "Myocardial infarction and pyrexia were seen.": {(0, 21): MI, (26, 33): FEVER},
}
DOCUMENTS = tuple(
    Document(str(number), text, tuple(Mention(*span, text[slice(*span)], (key,)) for span, key in SPANS.get(text, {}).items()))
    for number, text in enumerate(TEXTS)
)
BY_KEY = {each.key: each for each in SYSTEMS}


def request(document: Document, task: str) -> Request:
    spans = None if task == "text" else [[each.start, each.end] for each in document.mentions]
    return {"part": task, "task": task, "id": document.id, "text": document.text, "spans": spans}


def answers_of(system: System, settings: Mapping[str, Any], kb: Path, *tasks: str) -> dict[str, dict[str, list[Any]]]:
    requests = [request(doc, task) for task in tasks for doc in DOCUMENTS]
    folder = export_base(kb, system)
    write_training_texts(folder, TEXTS, DOCUMENTS)
    return run_system(system, settings, folder, requests)[0]


def write_training_texts(folder: Path, texts: Iterable[str], documents: Iterable[Document] = ()) -> None:
    """Write what some tools are trained on."""
    (folder / "abstracts.txt").write_text("".join(f"{text}\n" for text in texts) * 20)
    (folder / "training.json").write_bytes(annotated_texts(documents))


@pytest.fixture
def _use_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the environments of the user's cache, because making them takes minutes."""
    folder = Path.home() / ".cache" / "onym" / "rivals" / "environments"
    if not folder.is_dir():
        pytest.skip("python -m benchmarks rivals makes the environments of the tools")
    link = rivals_folder() / "environments"
    if not link.exists():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)


def score(kb: Path, task: str, answers: Mapping[str, Any]) -> float:
    judge = Judge(RivalTask(task, "", DOCUMENTS, KnowledgeBase.open(kb)))  # type: ignore[arg-type]
    return judge.judge(answers).score


def test_onym_finds_all(tiny_kb: Path) -> None:
    system = BY_KEY["onym-exact"]
    found = answers_of(system, system.settings["default"], tiny_kb, "text", "mentions", "terms")
    assert {task: score(tiny_kb, task, found[task]) for task in found} == {"text": 1.0, "mentions": 1.0, "terms": 1.0}


def test_the_best_answer_that_is_asked_for_counts(tiny_kb: Path) -> None:
    judge = Judge(RivalTask("mentions", "", DOCUMENTS, KnowledgeBase.open(tiny_kb)))
    assert judge.choose([(0, 5, [("x:1", 0.5), (FEVER, 0.5), (MI, 0.4)])]) == {(0, 5): FEVER}
    assert judge.choose([(0, 5, [])]) == {}


def test_systems_are_compared_in_pairs(tiny_kb: Path) -> None:
    judge = Judge(RivalTask("mentions", "", DOCUMENTS, KnowledgeBase.open(tiny_kb)))
    right = {doc.id: [(each.start, each.end, [(each.concept_ids[0], 1.0)]) for each in doc.mentions] for doc in DOCUMENTS}
    one, other = judge.judge(right), judge.judge({})
    assert (one.score, other.score) == (1.0, 0.0)
    assert p_value("mentions", one, other) == 0.125


def test_settings_are_cross_validated() -> None:
    def counts(right: list[int]) -> Judgement:
        return judgement_of_counts(np.array([[each, 1, each, 1] for each in right], dtype=np.float64))

    usual, found = cross_validate({"default": counts([1, 1, 1, 1, 0]), "other": counts([0, 0, 0, 0, 1])})
    assert (usual, found.rows[:, 0].tolist()) == ("default", [1, 1, 1, 1, 0])
    usual, found = cross_validate({"default": counts([1, 0, 0, 0, 0]), "other": counts([0, 1, 0, 0, 0])})
    assert found.score == 0.0, "a document does not choose its own settings"


def test_the_page_shows_the_stored_results() -> None:
    stored = json.loads(RESULTS.read_bytes())
    page = PAGE.read_text("utf-8")
    assert fill_page(page, stored) == page, "run python -m benchmarks.rivals.comparison_page"
    other = COMING_FROM.read_text("utf-8")
    assert fill_coming_from(other, stored) == other
    assert draw_plot(stored["rows"]) == PLOT.read_text("utf-8")
    assert "| 0 |" not in page


LOWER = {"spacy-matcher": "lower case", "spacy-ruler": "lower case", "quickumls": "-L -U"}
RIVALS = [each.key for each in SYSTEMS if not each.is_own]
MADE_FOR_MORE = {"fasthpocr", "scispacy"}
"""They need more than the tiny knowledge base: an ontology with the root of HPO, enough names for an index."""


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in RIVALS if key not in MADE_FOR_MORE])
@pytest.mark.usefixtures("_use_environments")
def test_adapters_give_known_answers(tiny_kb: Path, key: str) -> None:
    system = BY_KEY[key]
    found = answers_of(system, system.settings[LOWER.get(key, "default")], tiny_kb, *system.tasks)
    assert {task: score(tiny_kb, task, found[task]) for task in found} == dict.fromkeys(system.tasks, 1.0)


@pytest.mark.slow
@pytest.mark.usefixtures("_use_environments")
def test_the_linker_of_scispacy_gives_known_answers(tmp_path: Path) -> None:
    others = "".join(f"x:{number}\t{NAMES[number % 4]} of kind {number}\t\n" for number in range(80))
    own = f"{MI}\tMyocardial infarction\theart attack\n{FEVER}\tFever\tpyrexia\n"
    (tmp_path / "kb.tsv").write_text(f"id\tname\tsynonyms\n{own}{others}")
    build_kb(Recipe(sources=(SourceConfig(path="kb.tsv", name="kb"),)), tmp_path / "kb", root=tmp_path)
    system = BY_KEY["scispacy"]
    requests = [request(doc, "mentions") for doc in DOCUMENTS]
    found = run_system(system, system.settings["default"], export_base(tmp_path / "kb", system), requests)[0]
    assert score(tmp_path / "kb", "mentions", found["mentions"]) == 1.0


NAMES = ("Fever", "Pyrexia", "Heart attack", "Myocardial infarction")
ONTOLOGY = """format-version: 1.2
ontology: hp

[Term]
id: HP:0000118
name: Phenotypic abnormality

[Term]
id: HP:0001945
name: Fever
synonym: "Pyrexia" EXACT []
is_a: HP:0000118 ! Phenotypic abnormality

[Term]
id: HP:0001658
name: Myocardial infarction
synonym: "Heart attack" EXACT []
is_a: HP:0000118 ! Phenotypic abnormality
"""


@pytest.mark.slow
@pytest.mark.usefixtures("_use_environments")
def test_fasthpocr_gives_known_answers(tiny_kb: Path) -> None:
    system = BY_KEY["fasthpocr"]
    folder = export_base(tiny_kb, system)
    (folder / "hp.obo").write_text(ONTOLOGY)
    found = run_system(system, system.settings["default"], folder, [request(doc, "text") for doc in DOCUMENTS])[0]
    ids = {MI: "hp:0001658", FEVER: "hp:0001945"}
    assert {doc.id: {(start, end): concepts[0][0] for start, end, concepts in found["text"][doc.id]} for doc in DOCUMENTS} == {
        doc.id: {span: ids[key] for span, key in SPANS.get(doc.text, {}).items()} for doc in DOCUMENTS
    }


DOCUMENTED = """id\tname\tsynonyms\ttypes
kb:1\tBarack Obama\t\tT098
kb:2\tAngela Merkel\t\tT098
kb:3\tWashington, D.C.\t\tT083
kb:4\tcalcium(2+)\tCalcium\tT121
kb:5\tendoplasmic reticulum\tER\tT023
kb:6\tulna\tUlna\tT023
kb:7\tKidney Failure\tkidney failure\tT047
kb:8\tasthma\t\tT047
kb:9\tacute bronchitis\t\tT047
"""
_MERKEL = (
    "German Chancellor Angela Merkel and US President Barack Obama converge in the Oval Office "
    "inside the White House in Washington, D.C."
)
EXAMPLES = {
    "spacy-matcher": (_MERKEL, {"Angela Merkel": "kb:2", "Barack Obama": "kb:1", "Washington, D.C.": "kb:3"}),
    "spacy-ruler": (_MERKEL, {"Angela Merkel": "kb:2", "Barack Obama": "kb:1", "Washington, D.C.": "kb:3"}),
    "gilda": ("Calcium is released from the ER.", {"Calcium": "kb:4", "ER": "kb:5"}),
    "quickumls": ("The ulna has dislocated posteriorly from the trochlea of the humerus.", {"ulna": "kb:6"}),
    "medcat": ("My simple document with kidney failure", {"kidney failure": "kb:7"}),
    "medcat-supervised": ("My simple document with kidney failure", {"kidney failure": "kb:7"}),
    "text2term": ("asthma", {"asthma": "kb:8"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("key", EXAMPLES)
@pytest.mark.usefixtures("_use_environments")
def test_adapters_reproduce_examples_of_the_documentation(tmp_path: Path, key: str) -> None:
    (tmp_path / "kb.tsv").write_text(DOCUMENTED)
    build_kb(Recipe(sources=(SourceConfig(path="kb.tsv", name="kb"),)), tmp_path / "kb", root=tmp_path)
    text, wanted = EXAMPLES[key]
    system = BY_KEY[key]
    task = system.tasks[0]
    asked: Request = {"part": "", "task": task, "id": "1", "text": text, "spans": None if task == "text" else [[0, len(text)]]}
    folder = export_base(tmp_path / "kb", system)
    write_training_texts(folder, [text])
    found = run_system(system, system.settings["default"], folder, [asked])[0][""]["1"]
    assert {text[start:end]: concepts[0][0].lower() for start, end, concepts in found} == wanted
