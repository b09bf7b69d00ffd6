"""Tests of soft labels: students as teachers of students."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onym.datasets.own import prepare_own
from onym.datasets.prepared import PreparedDataset, open_dataset
from onym.errors import OnymError
from onym.kb import KnowledgeBase
from onym.methods.student.network import write_student
from onym.train.configs import TeachingConfig
from onym.train.student.teaching import label_documents
from tests.methods.student.test_detector import name_student, random_student
from tests.train.tiny import FEVER, pubtator

CONVENTIONS = {"one": ("Disease",), "two": ("Disease", "Gene")}
TEXTS = ("A heart attack, then fever.", "High fever.", "No fever.", "")


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    write_student(name_student(), {}, tmp_path / "teacher")
    return tmp_path / "teacher"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    lines = (json.dumps({"id": str(number), "text": text}) for number, text in enumerate(TEXTS))
    (tmp_path / "documents.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path / "documents.jsonl"


@pytest.fixture
def hold_out(tmp_path: Path) -> PreparedDataset:
    """Return a dataset with train, dev and test documents."""
    rows = [(f"Case {n} had fever.", [("fever", FEVER)]) for n in range(40)]
    (tmp_path / "own.pubtator").write_text(pubtator("test", rows))
    folder = prepare_own("own", [tmp_path / "own.pubtator"], tmp_path / "own", shares=(0.4, 0.3, 0.3)).folder
    return open_dataset(str(folder), None)


def label(
    kb: Path, documents: Path, *teachers: Path, datasets: tuple[PreparedDataset, ...] = (), limit: int = 9
) -> list[object]:
    config = TeachingConfig(detectors=tuple(map(str, teachers)), documents=str(documents), limit=limit)
    found = label_documents(config, KnowledgeBase.open(kb), datasets, CONVENTIONS)
    return [
        (text, convention, [(text[each.start : each.end], each.type) for each in spans]) for text, convention, spans in found
    ]


def test_documents_take_turns_in_following_the_conventions(tiny_kb: Path, documents: Path, teacher: Path) -> None:
    assert label(tiny_kb, documents, teacher) == [
        (TEXTS[0], "one", [("heart attack", "Disease"), ("fever", "Disease")]),
        (TEXTS[1], "two", [("fever", "Disease")]),
        (TEXTS[2], "one", [("fever", "Disease")]),
    ]
    assert len(label(tiny_kb, documents, teacher, limit=2)) == 2


def test_held_out_documents_are_left_out(tiny_kb: Path, tmp_path: Path, teacher: Path, hold_out: PreparedDataset) -> None:
    texts = {split: next(hold_out.documents(split)).text for split in ("train", "dev", "test")}
    lines = (json.dumps({"id": f"new {split}", "text": text}) for split, text in texts.items())
    (tmp_path / "texts.jsonl").write_text("\n".join(lines) + "\n")
    found = label(tiny_kb, tmp_path / "texts.jsonl", teacher, datasets=(hold_out,))
    assert found == [(texts["train"], "one", [("fever", "Disease")])]


def test_several_teachers_give_the_mean_of_their_probabilities(
    tiny_kb: Path, tmp_path: Path, documents: Path, teacher: Path
) -> None:
    write_student(random_student(conventions={"one": ("Gene",)}), {}, tmp_path / "other")  # never finds a disease
    kb, scores = KnowledgeBase.open(tiny_kb), []
    for detectors in ((teacher,), (teacher, tmp_path / "other")):
        config = TeachingConfig(detectors=tuple(map(str, detectors)), documents=str(documents), limit=1)
        [(_, _, spans)] = label_documents(config, kb, (), {"one": ("Disease",)})
        scores.append([span.score for span in spans])
    alone, both = scores
    assert both == pytest.approx([score / 2 for score in alone])


def test_a_teacher_is_a_trained_detector(tiny_kb: Path, tmp_path: Path, documents: Path) -> None:
    with pytest.raises(OnymError, match="model"):
        label(tiny_kb, documents, tmp_path / "nothing")
