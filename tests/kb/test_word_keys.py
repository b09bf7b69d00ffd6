"""Tests of finding names that have the same words in any order or inflection."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.kb import name_table as word_keys
from onym.kb.name_table import WordKeys, key_of


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def test_each_name_of_several_words_is_found(kb: KnowledgeBase) -> None:
    keys = WordKeys(kb)
    for row in range(len(kb.names)):
        words = kb.names[row].split()
        assert (row in keys.find(words[::-1])) == (" " in key_of(kb.names[row]))


def test_other_words_find_nothing(kb: KnowledgeBase) -> None:
    keys = WordKeys(kb)
    for words in ([], ["heart"], ["heart", "attack", "attack"], ["of", "the"], ["heart", "of", "stone"]):
        assert keys.find(words) == []


def test_fingerprint_collisions_are_resolved(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_keys, "_fingerprint", lambda key: 7)
    assert [kb.names[row] for row in WordKeys(kb).find(["attack", "heart"])] == ["heart attack"]
