"""Tests of the assertion benchmark: locating conditions in their sentences, and scoring marks."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.accuracy.assertion import Case, iter_cases, mention_in, scores

from onym.types import AssertionMark, Document

LINES = """line\tCondition\tsentence\tnegation\ttemporality\texperiencer
1\tfever\tNo FEVER.\tNegated\tRecent\tPatient
2\tstroke\tMother had STROKE.\tAffirmed\tHistorical\tFamily member
3\trash\tIf RASH.\tAffirmed\tNot particular\tPatient
"""


def test_reads_mentions_and_gold_marks(tmp_path: Path) -> None:
    (tmp_path / "set.txt").write_text(LINES)
    cases = list(iter_cases(tmp_path / "set.txt"))
    assert [case.document.mentions[0].surface for case in cases] == ["FEVER", "STROKE", "RASH"]
    assert [set(case.gold) for case in cases] == [{"negated"}, {"historical", "other-experiencer"}, {"hypothetical"}]
    assert [case.number for case in cases] == [1, 2, 3]


@pytest.mark.parametrize(
    ("sentence", "condition", "surface"),
    [
        ("Pain, but no PAIN  IN legs.", "pain in", "PAIN  IN"),
        ("No fever.", "Fever", "fever"),
        ("Neck: Supple.", "Neck: Supple. No rash", "Neck: Supple."),
        ("No rash seen.", "Supple. No rash", "No rash"),
    ],
)
def test_locates_a_condition_in_its_sentence(sentence: str, condition: str, surface: str) -> None:
    start, end = mention_in(sentence, condition)
    assert sentence[start:end] == surface
    with pytest.raises(ValueError, match="no word"):
        mention_in(sentence, "chills")


def test_precision_recall_and_f1() -> None:
    negated: frozenset[AssertionMark] = frozenset({"negated"})
    none: frozenset[AssertionMark] = frozenset()
    judged = [
        (Case(1, Document("1", ""), gold), found)
        for gold, found in ((negated, negated), (negated, negated), (negated, none), (none, negated), (none, none))
    ]
    assert scores(judged, "negated") == (66.7, 66.7, 66.7)
    assert scores(judged[:2], "negated") == (100.0, 100.0, 100.0)
    assert scores(judged, "possible") == (0.0, 0.0, 0.0)
