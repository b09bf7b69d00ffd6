"""Tests that the adapters of other tools give known answers on three documents, and that answers are judged alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmarks.rivals.adapters.serving import Request
from benchmarks.rivals.environments import export_base, rivals_folder, run_system
from benchmarks.rivals.systems import SYSTEMS, System
from benchmarks.rivals.tasks import Judge, RivalTask, p_value

from onym.kb import KnowledgeBase
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
    return run_system(system, settings, export_base(kb, system), requests)[0]


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


LOWER = {"spacy-matcher": "lower case", "spacy-ruler": "lower case", "quickumls": "-L -U"}
RIVALS = [each.key for each in SYSTEMS if not each.is_own]
MADE_FOR_MORE = {"fasthpocr", "scispacy", "medcat", "medcat-supervised"}
"""They need more than the tiny knowledge base: HPO, enough names for an index, texts to train on."""


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in RIVALS if key not in MADE_FOR_MORE])
@pytest.mark.usefixtures("_use_environments")
def test_adapters_give_known_answers(tiny_kb: Path, key: str) -> None:
    system = BY_KEY[key]
    found = answers_of(system, system.settings[LOWER.get(key, "default")], tiny_kb, *system.tasks)
    assert {task: score(tiny_kb, task, found[task]) for task in found} == dict.fromkeys(system.tasks, 1.0)
