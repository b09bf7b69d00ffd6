"""Tests of finding names with their words in another order."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.methods.dictionary.detector import DictionaryDetector, DictionaryDetectorConfig
from onym.methods.dictionary.names import ReorderedNames
from onym.methods.exact import ExactLinker
from onym.methods.exact import ExactLinkerConfig as ExactConfig
from onym.pipeline.pipeline import Pipeline


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("attacks of the heart", ["attacks of the heart"]),
        ("attack-heart", ["attack-heart"]),
        ("the attack, heart and all", []),  # a list of two things, not a reordered name
        ("attack (heart)", []),
        ("of the heart", []),
        ("attack " + "of the " * 4 + "heart", []),  # the words are too far apart
    ],
)
def test_matches_words_of_one_phrase_only(kb: KnowledgeBase, text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end, _ in ReorderedNames(kb).find(text)] == found


def test_from_text_to_concept(kb: KnowledgeBase) -> None:
    text = "Two Attacks of the Heart. An attack. Heart failure; no heart attack."
    detector = DictionaryDetector(kb, DictionaryDetectorConfig(reordered=True))
    with Pipeline(ExactLinker(kb, ExactConfig(reordered=True)), detector) as pipeline:
        links = pipeline.link(text).links
    assert [(link.mention.surface, link.concept_id) for link in links] == [
        ("Attacks of the Heart", "mesh:D009203"),
        ("heart attack", "mesh:D009203"),
    ]
    assert (detector.config["reordered"], ExactLinker(kb).config.get("reordered")) == (True, None)
    plain = Pipeline(ExactLinker(kb), DictionaryDetector(kb)).link(text).links
    assert [link.mention.surface for link in plain] == ["heart attack"]
