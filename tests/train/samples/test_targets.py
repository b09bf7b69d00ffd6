"""The names that a mention should be written as."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import InputError
from onym.kb import KnowledgeBase
from onym.text.normal import normal_name
from onym.text.similarity import NameSimilarity
from onym.train.samples.targets import Choice, DocMention, require_linkable, targets_of
from onym.types import Document, Mention


@pytest.fixture(scope="module")
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def doc_mention(surface: str, *concept_ids: str) -> DocMention:
    doc = Document("1", surface, (Mention(0, len(surface), surface, concept_ids),))
    return doc, doc.mentions[0]


def named(kb: KnowledgeBase, *mentions: DocMention, choice: Choice = "similar", count: int = 1) -> list[list[str]]:
    return [[kb.names[name] for name in names] for names in targets_of(mentions, kb, choice=choice, count=count)]


def test_the_closest_of_the_concepts_names_best_first(kb: KnowledgeBase) -> None:
    (found,) = named(kb, doc_mention("Heart Attacks", "mesh:D009203"), count=4)
    similarity = NameSimilarity.of(kb.names)
    scores = similarity.pairwise([normal_name("Heart Attacks")] * len(found), found).tolist()
    assert found[0] == "heart attack"
    assert sorted(found) == ["heart attack", "infarct myocardial", "mi", "myocardial infarction"]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > scores[1]


def test_a_name_of_another_concept_is_never_taken(kb: KnowledgeBase) -> None:
    assert named(kb, doc_mention("heart attack", "mesh:D005334"), count=9)[0] == ["fever", "pyrexia", "hyperthermia"]


def test_a_mention_of_two_concepts_takes_names_of_both_each_once(kb: KnowledgeBase) -> None:
    (found,) = named(kb, doc_mention("MI", "mesh:D009203", "mesh:D006973"), count=9)
    assert len(found) == len(set(found)) == 6
    assert found[0] == "mi"


def test_the_target_of_minimal_length(kb: KnowledgeBase) -> None:
    assert named(kb, doc_mention("heart attack", "mesh:D009203"), choice="short", count=2) == [["mi", "heart attack"]]


def test_any(kb: KnowledgeBase) -> None:
    assert sorted(named(kb, doc_mention("x", "mesh:D005334"), choice="sampled")[0]) == ["fever", "hyperthermia", "pyrexia"]


@pytest.mark.parametrize("choice", ["similar", "short", "sampled"])
def test_unknown_concepts_have_none_and_others_keep_their_positions(kb: KnowledgeBase, choice: Choice) -> None:
    mentions = [
        doc_mention("a", "mesh:D0"),
        doc_mention("fever", "mesh:D005334"),
        doc_mention("b"),
        doc_mention("mi", "mesh:D006973"),
    ]
    found = named(kb, *mentions, choice=choice)
    assert [bool(names) for names in found] == [False, True, False, True]
    assert named(kb, choice=choice) == []


def test_a_corpus_of_which_nothing_is_known_is_refused() -> None:
    require_linkable(1)
    with pytest.raises(InputError) as empty:
        require_linkable(0)
    assert empty.value.code == "training-empty"


def test_alternative_ids_count(kb: KnowledgeBase) -> None:
    assert named(kb, doc_mention("fever", "MESH:D005334")) == [["fever"]]
