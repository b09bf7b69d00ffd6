"""Names that are too common to be believed wherever they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.detect._filter import Trust
from onym.kb import KnowledgeBase
from onym.kb.masks import concepts_of_types
from tests.detect.made_kb import made_kb


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return made_kb(tmp_path_factory.mktemp("trust"))


@pytest.mark.parametrize(
    ("name", "surface", "is_believed"),
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
def test_short_forms_are_believed_as_they_are_written(kb: KnowledgeBase, name: str, surface: str, is_believed: bool) -> None:
    assert Trust(kb).believes(kb.find(name), surface) is is_believed


def test_function_words_are_names_of_nothing(kb: KnowledgeBase) -> None:
    assert not Trust(kb, shortest=1).believes(kb.find("by"), "by")
    assert Trust(kb, shortest=2).believes(kb.find("mi"), "MI")


def test_a_form_of_a_concept_that_is_not_asked_for_does_not_count(kb: KnowledgeBase) -> None:
    name = kb.find("men")
    assert Trust(kb).believes(name, "men")
    diseases = Trust(kb, only=concepts_of_types(kb, ["disease"]))
    assert not diseases.believes(name, "men")
    assert diseases.believes(name, "MEN")


def test_a_word_with_which_many_names_end_says_too_little(tmp_path: Path) -> None:
    rows = "".join(f"x:{number}\tkind{number} disease\t\tdisease\n" for number in range(1, 101))
    few = made_kb(
        tmp_path, rows.replace("kind7 disease", "kind7 fever") + "x:500\tDisease\t\tdisease\nx:501\tFever\t\tdisease\n"
    )
    assert Trust(few).general == frozenset()
    (tmp_path / "more").mkdir()
    many = made_kb(tmp_path / "more", rows + "x:500\tDisease\t\tdisease\nx:501\tFever\t\tdisease\n")
    trust = Trust(many)
    assert trust.general == {"disease"}
    assert not trust.believes(many.find("disease"), "Disease")
    assert trust.believes(many.find("fever"), "fever")
    assert trust.believes(many.find("kind7 disease"), "kind7 disease")


def test_characters_that_are_words_count_twice(tmp_path: Path) -> None:
    made = made_kb(tmp_path, "x:1\t\u75be\u75c5\t\tdisease\nx:2\t\u03b2x\t\tdisease\n")
    assert Trust(made).believes(made.find("\u75be\u75c5"), "\u75be\u75c5")
    assert not Trust(made).believes(made.find("\u03b2x"), "\u03b2x")
