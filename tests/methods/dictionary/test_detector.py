"""Tests of the dictionary detector."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.kb import KnowledgeBase
from onym.kb.name_table import NameTable
from onym.kb.ranking import concepts_of_types
from onym.methods.dictionary import detector as dictionary
from onym.methods.dictionary.detector import _FEW_TEXTS, DictionaryDetector, DictionaryDetectorConfig
from onym.methods.exact import ExactLinker
from onym.text.analysis import analyse
from onym.text.fingerprints import Numbered
from onym.types import Document, Mention, Passage
from tests.methods.dictionary.made_kb import make_kb
from tests.methods.dictionary.test_classifier import make_classifier
from tests.support.linking import link_with


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return make_kb(tmp_path_factory.mktemp("dictionary"))


def find_surfaces(kb: KnowledgeBase, text: str, **settings: Any) -> list[str]:
    """Return the surfaces of the mentions, after checking their offsets."""
    (detected,) = DictionaryDetector(kb, DictionaryDetectorConfig(**settings)).detect([Document("1", text)])
    assert len(detected.scores) == len(detected.document.mentions)
    return [text[mention.start : mention.end] for mention in detected.document.mentions]


@pytest.mark.parametrize(
    ("text", "surfaces"),
    [
        ("", []),
        ("A heart attack.", ["heart attack"]),  # the longest name wins
        ("Heart-attack, HEART\t ATTACK", ["Heart-attack", "HEART\t ATTACK"]),
        ("sweetheart attack hearty", []),  # whole words only
        ("the heart's attack", ["heart"]),
        ("heart-related", ["heart"]),
        ("\u03b2-actin and \u0392-ACTIN", ["\u03b2-actin", "\u0392-ACTIN"]),
        ("poly(ADP-ribose) polymerase", ["poly(ADP-ribose)"]),
        ("all men was ALL, WAS", ["men", "ALL", "WAS"]),
        ("It was of the heart. Attack was swift.", ["heart"]),  # "heart. Attack" crosses a sentence boundary
        ("\U0001f9ec heart\u200battack \u202eheart", ["heart", "heart"]),
        ("he\u0301art heart\u0301", []),  # a combining mark belongs to its letter
        ("\ud800 heart", ["heart"]),
    ],
)
def test_names_are_found(kb: KnowledgeBase, text: str, surfaces: list[str]) -> None:
    assert find_surfaces(kb, text) == surfaces


def test_finds_singular_and_plural(kb: KnowledgeBase) -> None:
    text = "Hearts and heart attacks; sweethearts."
    assert find_surfaces(kb, text) == ["Hearts", "heart attacks"]
    assert find_surfaces(kb, text, inflections=False) == ["heart"]


def test_finds_british_and_american_spelling(tmp_path: Path) -> None:
    rows = "x:1\tLeukemia\t\tdisease\nx:2\tOesophageal tumour\t\tdisease\nx:3\tDiarrhea\t\tdisease\n"
    made = make_kb(tmp_path, rows)
    text = "Leukaemias, leukemia, esophageal tumors, oesophageal tumor, diarrhoea"
    surfaces = text.split(", ")
    assert find_surfaces(made, text) == surfaces
    many = DictionaryDetector(made)
    for found in many.detect([Document(str(number), text) for number in range(_FEW_TEXTS + 2)]):
        assert [each.surface for each in found.document.mentions] == surfaces


def test_prefers_the_name_as_it_is_written(tmp_path: Path) -> None:
    made = make_kb(tmp_path, "x:1\tTumor\t\tdisease\nx:2\tTumors\t\tchemical\n")
    detector = DictionaryDetector(made)
    for found in detector.detect([Document(str(number), "tumor tumors tumour") for number in range(_FEW_TEXTS + 2)]):
        assert [each.type for each in found.document.mentions] == ["disease", "chemical", "disease"]


def test_short_and_general_names_are_found_with_a_classifier(tmp_path: Path) -> None:
    made = make_kb(tmp_path, "x:1\tInfarct\tMI\tdisease\nx:2\tDisease\t\tdisease\nx:3\tLead\t\tchemical\n")
    text = "MI or mi, a disease, lead"
    assert find_surfaces(made, text, min_length=2) == ["MI"]
    for classifier, surfaces in ((None, []), (make_classifier(hints=True), ["MI", "disease", "lead"])):
        (found,) = DictionaryDetector(made, classifier=classifier).detect([Document("1", text)])
        assert [each.surface for each in found.document.mentions] == surfaces


def test_finds_nested_names_on_request(kb: KnowledgeBase) -> None:
    assert find_surfaces(kb, "myocardial infarction, heart attack") == ["myocardial infarction", "heart attack"]
    surfaces = ["myocardial infarction", "infarction", "heart", "heart attack"]
    assert find_surfaces(kb, "myocardial infarction, heart attack", nested=True) == surfaces


def test_defined_abbreviations(kb: KnowledgeBase) -> None:
    text = "Heart attack (HA) came. HA, HAs but no AHA HAX."
    assert find_surfaces(kb, text) == ["Heart attack", "HA", "HA", "HAs"]
    assert find_surfaces(kb, text, abbreviations=False) == ["Heart attack"]


def test_abbreviation_defined_otherwise_is_no_mention(kb: KnowledgeBase) -> None:
    assert find_surfaces(kb, "We saw ALL twice.") == ["ALL"]
    assert find_surfaces(kb, "The anterolateral ligament (ALL) was cut; ALL healed.") == []


def test_short_names_that_the_text_defines_are_mentions(kb: KnowledgeBase) -> None:
    assert find_surfaces(kb, "Myocardial infarction (MI), then MI.") == ["Myocardial infarction", "MI", "MI"]


def test_a_mention_lies_in_one_passage(kb: KnowledgeBase) -> None:
    doc = Document("1", "Of the heart attack", passages=(Passage(0, 12, "title"), Passage(13, 19, "abstract")))
    (detected,) = DictionaryDetector(kb).detect([doc])
    assert [mention.surface for mention in detected.document.mentions] == ["heart"]


def test_type_is_that_of_the_intended_concept(kb: KnowledgeBase) -> None:
    text = "Heart attack (HA); later Poly(ADP-ribose) or PAR. Interleukin-2 (IL2), IL2."
    (detected,) = DictionaryDetector(kb).detect([Document("1", text)])
    found = [(mention.surface, mention.type) for mention in detected.document.mentions]
    assert found == [
        ("Heart attack", "disease"),
        ("HA", "disease"),
        ("Poly(ADP-ribose)", "chemical"),
        ("PAR", "chemical"),
        ("Interleukin-2", "protein"),
        ("IL2", "protein"),
        ("IL2", "protein"),
    ]


def test_only_some_concepts(kb: KnowledgeBase) -> None:
    only = concepts_of_types(kb, ["anatomy", "chemical"])
    detector = DictionaryDetector(kb, only=only)
    (detected,) = detector.detect([Document("1", "heart attack, men, 5-HT")])
    assert [(m.surface, m.type) for m in detected.document.mentions] == [("heart", "anatomy"), ("5-HT", "chemical")]
    assert detector.config["concepts_allowed"] == int(only.sum())


def test_types_option_narrows_the_filter(kb: KnowledgeBase) -> None:
    detector = DictionaryDetector(
        kb, DictionaryDetectorConfig(types="anatomy, disease"), only=concepts_of_types(kb, ["anatomy", "chemical"])
    )
    (detected,) = detector.detect([Document("1", "heart attack, men, 5-HT")])
    assert [mention.surface for mention in detected.document.mentions] == ["heart"]
    assert detector.config["types"] == "anatomy, disease"


def test_ignores_existing_mentions(kb: KnowledgeBase) -> None:
    doc = Document("1", "heart", (Mention(0, 1, "h"),))
    (detected,) = DictionaryDetector(kb).detect([doc])
    assert [mention.surface for mention in detected.document.mentions] == ["heart"]
    assert detected.document.id == "1"


def test_config_records_the_options(kb: KnowledgeBase) -> None:
    config = DictionaryDetector(kb, DictionaryDetectorConfig(min_length=5)).config
    assert config == {
        "detector": "dictionary",
        "min_length": 5,
        "case_sensitive_below": 4,
        "abbreviations": True,
        "inflections": True,
        "nested": False,
    }


PIECES = st.sampled_from(
    [
        "heart",
        "attack",
        "HEART",
        "Interleukin",
        "2",
        "-",
        "(",
        ")",
        " ",
        "\r\n",
        "\u200b",
        "\u0301",
        "\U0001f9ec",
        "\u0130",
        ". ",
    ]
)


@given(text=st.lists(PIECES | st.characters(), max_size=30).map("".join))
def test_offsets_refer_to_the_raw_text(kb: KnowledgeBase, text: str) -> None:
    for nested in (False, True):
        (detected,) = DictionaryDetector(kb, DictionaryDetectorConfig(nested=nested)).detect([Document("1", text)])
        for mention in detected.document.mentions:  # the constructor of Document has already checked the surfaces
            assert text[mention.start : mention.end] == mention.surface
            before, after = text[: mention.start][-1:], text[mention.end :][:1]
            assert not (before.isalnum() and mention.surface[0].isalnum())
            assert not (after.isalnum() and mention.surface[-1].isalnum())


@given(texts=st.lists(st.lists(PIECES | st.characters(), max_size=20).map("".join), min_size=1, max_size=4))
def test_batch_agrees_with_single_texts(kb: KnowledgeBase, texts: list[str]) -> None:
    docs = [analyse(Document(str(number), text)) for number, text in enumerate(texts)]
    for types in (None, "disease"):
        detector = DictionaryDetector(kb, DictionaryDetectorConfig(types=types))
        one_by_one = [list(spans) for spans in detector._names(docs)]
        detector._seen = _FEW_TEXTS
        at_once = [sorted(spans) for spans in detector._names(docs)]
        assert at_once == [sorted(spans) for spans in one_by_one]


def test_hash_collisions_change_nothing(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = [Document(str(number), "A heart attack, MEN and men.") for number in range(_FEW_TEXTS)]
    expected = next(DictionaryDetector(kb).detect(docs[:1])).document.mentions
    table = NameTable.of(kb.names, forms=True)
    all_set = np.full(len(table.is_name), 255, dtype=np.uint8)
    alike = replace(table, fingerprints=table.fingerprints & np.uint64(0), is_name=all_set, goes_on=all_set)
    monkeypatch.setattr(Numbered, "fingerprints", lambda _, starts, __: np.zeros(len(starts), dtype=np.uint64))
    monkeypatch.setattr(dictionary, "open_name_table", lambda _, *, forms: alike)
    assert {each.document.mentions for each in DictionaryDetector(kb).detect(docs)} == {expected}


@given(
    name=st.integers(0, 20), before=st.sampled_from(["", "x ", "\U0001f9ec", "("]), after=st.sampled_from(["", " x", "\u2026"])
)
def test_finds_and_links_every_accepted_name(kb: KnowledgeBase, name: int, before: str, after: str) -> None:
    """Every name that the filter accepts is detected, and exact match links it."""
    form = kb.term_forms[name % len(kb.term_forms)]
    detector = DictionaryDetector(kb, DictionaryDetectorConfig(min_length=1, abbreviations=False))
    if form in ("by", "1,2"):
        return
    (detected,) = detector.detect([Document("1", before + form + after)])
    assert form in [mention.surface for mention in detected.document.mentions]
    (linked,) = link_with(ExactLinker(kb), [detected.document])
    assert all(link.candidates for link in linked.links)


def test_real_folders_need_nothing_next_to_the_knowledge_base(kb: KnowledgeBase) -> None:
    before = sorted(Path(kb.folder.parent).rglob("*"))
    find_surfaces(kb, "a heart attack")
    assert sorted(Path(kb.folder.parent).rglob("*")) == before
