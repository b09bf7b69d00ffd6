"""Tests of comparing the ways to link: equal answers are equal, and each kind of difference is counted."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.__main__ import find_missed_bounds
from benchmarks.same import same_answers
from benchmarks.same.same_answers import compare
from benchmarks.same.texts import SPELLINGS, _respell, interleave
from benchmarks.same.ways import WAYS, Answer, Answers, Case, Way, command, migrated, reconciled

import onym
from onym.types import Document, Mention

FEVER = Answer(3, 8, "fever", "mesh:d005334", ("mesh:d005334", "hp:0001945"), (1.0, 0.5), 0.9)
RAW = Document("raw-1", "High fever, no heart attack.")
ANNOTATED = Document("annotated-1", "No MI, no Pyrexia.", (Mention(3, 5, "MI"), Mention(10, 17, "Pyrexia", ("mesh:D005334",))))
TERM = Document("terms-1", "pyrexia", (Mention(0, 7, "pyrexia"),))
OF_SERVICE = {"serve", "serve_lines", "serve_map", "reconcile"}
SLOW = {"batch", "review", "mcp", "mcp_map", "spacy", "spacy_entities"}


def way(**changes: Any) -> Way:
    return WAYS[0]._replace(**changes)


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 0),
        ({"start": 2}, 1),
        ({"surface": "Fever"}, 1),
        ({"concept_id": None}, 1),
        ({"ids": ("hp:0001945", "mesh:d005334")}, 1),
        ({"ids": ("mesh:d005334",), "scores": (1.0,)}, 1),
        ({"scores": (1.0, 0.50002)}, 1),
        ({"scores": (1.0, 0.500009)}, 0),
        ({"confidence": 0.90002}, 1),
        ({"confidence": None}, 1),
    ],
)
def test_counts_texts_with_a_different_answer(change: dict[str, Any], count: int) -> None:
    found = {"1": [FEVER._replace(**change)], "2": [FEVER]}
    changes = compare({"1": [FEVER], "2": [FEVER]}, found, way())
    assert [each["text"] for each in changes] == ["1"] * count


def test_counts_texts_with_missing_or_further_mentions() -> None:
    assert [each["found"] for each in compare({"1": [FEVER]}, {"1": []}, way())] == [None]
    assert [each["expected"] for each in compare({"1": [FEVER]}, {"1": [FEVER, FEVER]}, way())] == [None]


def test_rejects_answers_for_other_texts() -> None:
    with pytest.raises(RuntimeError, match="link linked other texts"):
        compare({"1": [FEVER]}, {}, way())


def test_compares_what_a_way_shows() -> None:
    assert reconciled(FEVER).scores == (0.9,)
    assert reconciled(FEVER._replace(confidence=None)).scores == (1.0,)
    assert migrated(FEVER) == FEVER._replace(ids=("mesh:d005334",), scores=())
    assert migrated(FEVER._replace(confidence=None, scores=(1.0, 1.0))) is None
    assert migrated(FEVER._replace(ids=FEVER.ids[:1], scores=(1.0,))) is None


def test_spellings_change_texts_and_move_mentions() -> None:
    text = "The naive woman's non-small tumor and her fever"
    document = Document("", text, (Mention(42, 47, "fever"),))
    spelled = [spell(document) for spell in SPELLINGS]
    assert len({each.text for each in spelled}) == len(SPELLINGS) - 1  # one has no ligature to write, and one is unchanged
    assert {each.mentions[0].surface for each in spelled} == {"fever"}
    assert {each.mentions[0].start for each in spelled} == {42, 43}


def test_spells_documents_whose_mentions_change() -> None:
    documents = [replace(TERM, text=text, mentions=(Mention(0, len(text), text),)) for text in ("fever", "flu", "Crohn's")]
    assert [each.text for each in _respell("terms", documents, 2)] == ["Crohn\u2019s", "fever"]
    assert interleave([["a", "b"], ["c"]]) == ["a", "c", "b"]


@pytest.fixture
def case(tiny_kb: Path, tmp_path: Path) -> Case:
    """Return a case of exact match, without a service."""
    onym.build_pipeline(tiny_kb, tmp_path / "exact")
    onym.write_corpus([ANNOTATED], tmp_path / "gold.jsonl", "jsonl")
    split = f"test={tmp_path / 'gold.jsonl'}"
    command("dataset", "prepare", "--name", "same", "--split", split, "-o", tmp_path / "dataset", "--kb", tiny_kb)
    (gold,) = onym.open_dataset(str(tmp_path / "dataset")).documents("test")
    documents = {
        "raw": [RAW],
        "annotated": [ANNOTATED],
        "terms": [TERM],
        "texts": [RAW, ANNOTATED],
        "entities": [replace(ANNOTATED, mentions=(Mention(3, 5, "MI", type="Disease"),))],
        "gold": [gold],
        "found": [replace(gold, mentions=())],
    }
    named = ("--kb", str(tiny_kb), "--linker", "exact")
    (tmp_path / "case").mkdir()
    return Case("exact", str(tmp_path / "exact"), named, documents, tmp_path / "dataset", tmp_path / "case")


def quick(tmp_path: Path, *names: str) -> Namespace:
    return Namespace(quick=True, way=list(names), differences=tmp_path / "differences.jsonl")


def only(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_cases(*_: object, **__: object) -> Iterator[Case]:
        yield case

    monkeypatch.setattr(same_answers, "open_cases", open_cases)


def test_ways_give_the_same_answers(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(case, monkeypatch)
    names = {each.name for each in WAYS} - OF_SERVICE - SLOW
    figures = same_answers.run(quick(tmp_path, *names))
    assert {key: figures[key] for key in figures if key.startswith("differences_")} == {
        f"differences_{name}": 0 for name in names
    }
    assert figures["ways"] == len(names)
    assert not find_missed_bounds(same_answers, figures, is_quick=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW))
def test_slow_ways_give_the_same_answers(name: str, case: Case) -> None:
    (named,) = (each for each in WAYS if each.name == name)
    assert compare(case.expected(named.kind), named.ask(case), named) == []
    assert any(case.expected(named.kind).values())


def test_fails_if_a_way_differs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(case: Case) -> Answers:
        return {text: [each._replace(ids=each.ids[::-1]) for each in found] for text, found in case.expected("texts").items()}

    only(case, monkeypatch)
    monkeypatch.setattr(same_answers, "WAYS", [way(ask=ask)])
    figures = same_answers.run(quick(tmp_path))
    assert (figures["differences"], figures["differences_link"]) == (1, 1)  # MI is the name of two concepts
    assert find_missed_bounds(same_answers, figures, is_quick=True) == ["differences is over 0"]
    (line,) = map(json.loads, (tmp_path / "differences.jsonl").read_text().splitlines())
    assert (line["way"], line["pipeline"], line["text"], line["expected"][2]) == ("link", "exact", "annotated-1", "MI")
