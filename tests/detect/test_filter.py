"""Names that are too common to be mentions wherever they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.detect.dictionary import NameFilter
from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_of_types
from tests.detect.made_kb import made_kb


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return made_kb(tmp_path_factory.mktemp("filter"))


@pytest.mark.parametrize(
    ("name", "surface", "is_accepted"),
    [
        ("all", "ALL", True),
        ("all", "all", False),
        ("all", "All", False),
        ("was", "was", False),
        ("was", "WAS", True),
        ("heart", "HEART", True),
        ("heart", "heart", True),
        ("by", "by", False),
        ("1 2", "1,2", False),
        ("il 2", "IL-2", True),
        ("il 2", "il-2", False),
        ("5 ht", "5-HT", True),
        ("myocardial infarction", "MYOCARDIAL Infarction", True),
        ("mi", "MI", False),  # too short
    ],
)
def test_short_forms_are_accepted_as_they_are_written(kb: KnowledgeBase, name: str, surface: str, is_accepted: bool) -> None:
    assert NameFilter(kb).accepts(kb.find(name), surface) is is_accepted


def test_function_words_are_names_of_nothing(kb: KnowledgeBase) -> None:
    assert not NameFilter(kb, min_length=1).accepts(kb.find("by"), "by")
    assert NameFilter(kb, min_length=2).accepts(kb.find("mi"), "MI")


def test_longer_abbreviations_are_accepted_in_any_case(kb: KnowledgeBase) -> None:
    assert not NameFilter(kb, case_sensitive_below=3).accepts(kb.find("il 2"), "il-2")
    assert NameFilter(kb, case_sensitive_below=2).accepts(kb.find("il 2"), "il-2")


def test_a_form_of_a_concept_that_is_not_requested_does_not_count(kb: KnowledgeBase) -> None:
    name = kb.find("men")
    assert NameFilter(kb).accepts(name, "men")
    diseases = NameFilter(kb, only=concepts_of_types(kb, ["disease"]))
    assert not diseases.accepts(name, "men")
    assert diseases.accepts(name, "MEN")


def test_a_word_with_which_many_names_end_says_too_little(tmp_path: Path) -> None:
    rows = "".join(f"x:{number}\tkind{number} disease\t\tdisease\n" for number in range(1, 101))
    few = made_kb(
        tmp_path, rows.replace("kind7 disease", "kind7 fever") + "x:500\tDisease\t\tdisease\nx:501\tFever\t\tdisease\n"
    )
    assert NameFilter(few).general == frozenset()
    (tmp_path / "more").mkdir()
    many = made_kb(tmp_path / "more", rows + "x:500\tDisease\t\tdisease\nx:501\tFever\t\tdisease\n")
    names = NameFilter(many)
    assert names.general == {"disease"}
    assert not names.accepts(many.find("disease"), "Disease")
    assert names.accepts(many.find("fever"), "fever")
    assert names.accepts(many.find("kind7 disease"), "kind7 disease")


def test_characters_that_are_words_count_twice(tmp_path: Path) -> None:
    made = made_kb(tmp_path, "x:1\t\u75be\u75c5\t\tdisease\nx:2\t\u03b2x\t\tdisease\n")
    assert NameFilter(made).accepts(made.find("\u75be\u75c5"), "\u75be\u75c5")
    assert not NameFilter(made).accepts(made.find("\u03b2x"), "\u03b2x")


def test_general_words_are_those_that_are_counted(tmp_path: Path) -> None:
    words = ["disease", "release", "syndrome", "drome", "e", "se", "krankheit"]
    counted = {word: 20 * rank for rank, word in enumerate(words, 1)}
    rows = "".join(f"x:{word}{at}\tx{at} {word}\t\tdisease\n" for word, count in counted.items() for at in range(count))
    assert NameFilter(made_kb(tmp_path, rows)).general == {"e", "se", "krankheit"}
