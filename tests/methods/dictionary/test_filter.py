"""Tests of the filter for names that are too common to be mentions."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_of_types
from onym.methods.detector import RejectionReason
from onym.methods.dictionary.names import NameFilter
from tests.methods.dictionary.made_kb import make_kb


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return make_kb(tmp_path_factory.mktemp("filter"))


@pytest.mark.parametrize(
    ("name", "surface", "reason"),
    [
        ("all", "ALL", None),
        ("all", "all", "other-spelling"),
        ("all", "All", "other-spelling"),
        ("was", "was", "other-spelling"),
        ("was", "WAS", None),
        ("heart", "HEART", None),
        ("heart", "heart", None),
        ("by", "by", "too-short"),
        ("1 2", "1,2", "no-letter"),
        ("il 2", "IL-2", None),
        ("il 2", "il-2", "other-spelling"),
        ("5 ht", "5-HT", None),
        ("myocardial infarction", "MYOCARDIAL Infarction", None),
        ("mi", "MI", "too-short"),
    ],
)
def test_short_forms_are_accepted_as_they_are_written(
    kb: KnowledgeBase, name: str, surface: str, reason: RejectionReason | None
) -> None:
    names = NameFilter(kb)
    assert names.reject(kb.find(name), surface) == reason
    if reason:
        assert names.describe(kb.find(name), reason)


def test_rejects_function_words(kb: KnowledgeBase) -> None:
    assert NameFilter(kb, min_length=1).reject(kb.find("by"), "by") == "function-word"
    assert NameFilter(kb, min_length=2).reject(kb.find("mi"), "MI") is None


def test_longer_abbreviations_are_accepted_in_any_case(kb: KnowledgeBase) -> None:
    assert NameFilter(kb, case_sensitive_below=3).reject(kb.find("il 2"), "il-2") is not None
    assert NameFilter(kb, case_sensitive_below=2).reject(kb.find("il 2"), "il-2") is None


def test_ignores_spellings_of_excluded_concepts(kb: KnowledgeBase) -> None:
    name = kb.find("men")
    assert NameFilter(kb).reject(name, "men") is None
    diseases = NameFilter(kb, only=concepts_of_types(kb, ["disease"]))
    assert diseases.reject(name, "men") is not None
    assert diseases.reject(name, "MEN") is None


def test_rejects_general_and_ordinary_words_unless_a_classifier_judges(tmp_path: Path) -> None:
    rows = "x:1\tDisease\t\tdisease\nx:2\tLead\t\tchemical\nx:3\tCHARGE\t\tdisease\nx:4\tLeukemia\t\tdisease\n"
    made = make_kb(tmp_path, rows)
    alone, judged = NameFilter(made), NameFilter(made, is_judged=True)
    for surface, reason in (("disease", "too-general"), ("Lead", "ordinary-word"), ("leukemia", None), ("CHARGE", None)):
        name = made.find(surface.lower())
        assert alone.reject(name, surface) == reason
        assert judged.reject(name, surface) is None
        assert reason is None or "classifier" in alone.describe(name, reason)
    assert alone.reject(made.find("charge"), "charge") == judged.reject(made.find("charge"), "charge") == "other-spelling"


def test_wide_characters_count_twice(tmp_path: Path) -> None:
    made = make_kb(tmp_path, "x:1\t\u75be\u75c5\t\tdisease\nx:2\t\u03b2x\t\tdisease\n")
    assert NameFilter(made).reject(made.find("\u75be\u75c5"), "\u75be\u75c5") is None
    assert NameFilter(made).reject(made.find("\u03b2x"), "\u03b2x") is not None
