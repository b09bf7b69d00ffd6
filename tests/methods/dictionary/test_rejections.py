"""Tests of the reasons why KB names in a text are not mentions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.ranking import concepts_of_types
from onym.kb.recipe import Recipe
from onym.methods.detector import FindsRejections, Rejection
from onym.methods.dictionary.detector import DictionaryDetector, DictionaryDetectorConfig
from onym.types import Document, Passage
from tests.methods.dictionary.made_kb import make_kb
from tests.methods.dictionary.test_classifier import make_classifier


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return make_kb(tmp_path_factory.mktemp("rejections"))


def find_rejections(kb: KnowledgeBase, text: str, **settings: Any) -> dict[str, str]:
    """Return the rejection reasons by surface."""
    return {
        each.surface: each.reason
        for each in DictionaryDetector(kb, DictionaryDetectorConfig(**settings)).find_rejections(Document("1", text))
    }


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("nothing here", {}),
        ("a heart attack", {"heart": "overlapped"}),
        ("MI, by 1,2 all", {"MI": "too-short", "by": "too-short", "1,2": "no-letter", "all": "other-spelling"}),
        ("The anterolateral ligament (ALL); ALL healed.", {"ALL": "other-abbreviation"}),
        ("Of the heart. Attack was swift.", {"heart. Attack": "sentence-boundary", "was": "other-spelling"}),
        ("(heart) attack", {"heart) attack": "unpaired-bracket"}),
    ],
)
def test_each_reason(kb: KnowledgeBase, text: str, reasons: dict[str, str]) -> None:
    assert find_rejections(kb, text) == reasons


def test_rejection_depends_on_options(kb: KnowledgeBase) -> None:
    assert find_rejections(kb, "MI by", min_length=1) == {"by": "function-word"}
    assert find_rejections(kb, "a heart attack", nested=True) == {}
    assert find_rejections(kb, "Heart attacks", inflections=True) == {"Heart": "overlapped"}


def test_detail_contains_numbers_and_names(kb: KnowledgeBase) -> None:
    def details(text: str) -> list[str]:
        return [each.detail for each in DictionaryDetector(kb).find_rejections(Document("1", text))]

    (short,) = details("MI")
    assert short.startswith("the name has fewer than 3 characters (detector option min_length); define it in the text")
    assert details("all") == ["the knowledge base writes this abbreviation ALL"]
    assert details("heart attack") == ["overlapped by the name 'heart attack'"]
    assert "'anterolateral ligament'" in details("The anterolateral ligament (ALL) was cut.")[0]


def test_says_that_the_name_has_another_form(kb: KnowledgeBase) -> None:
    detector = DictionaryDetector(kb, DictionaryDetectorConfig(inflections=False))
    (found,) = detector.find_rejections(Document("1", "Infarctions"))
    assert (found.surface, found.reason) == ("Infarctions", "other-form")
    assert found.detail == "the knowledge base has it as 'infarction' (removed by detector option inflections)"


def test_the_classifier_gives_its_probability(kb: KnowledgeBase) -> None:
    detector = DictionaryDetector(kb, classifier=make_classifier(before_to=-3))
    (found,) = detector.find_rejections(Document("1", "heart, to heart"))
    detail = "the classifier's probability is 0.05, below the threshold of 0.50"
    assert found == Rejection(10, 15, "heart", "below-threshold", detail)


def test_names_of_other_types_are_filtered(kb: KnowledgeBase) -> None:
    detector = DictionaryDetector(kb, only=concepts_of_types(kb, ["disease"]))
    found = detector.find_rejections(Document("1", "Heart attack, 5-HT"))
    assert [(each.surface, each.reason) for each in found] == [("Heart", "filtered"), ("5-HT", "filtered")]
    assert found[1].detail.endswith("(chemical)")


def test_rejects_names_from_other_sources(tmp_path: Path) -> None:
    (tmp_path / "mesh.tsv").write_text("id\tname\tsynonyms\txrefs\nmesh:C1\tketamine\tketalar\tcas:1\n")
    (tmp_path / "chebi.tsv").write_text("id\tname\tsynonyms\txrefs\nchebi:1\tketamine\tketaject\tcas:1\n")
    sources = [{"path": "mesh.tsv"}, {"path": "chebi.tsv", "only_joined": True}]
    build_kb(Recipe.of({"sources": sources, "joins": {"shared_ids": ["cas"]}}), tmp_path / "kb", root=tmp_path)
    joined = KnowledgeBase.open(tmp_path / "kb")
    own = DictionaryDetector(joined, DictionaryDetectorConfig(lent_names=False))
    (found,) = own.find_rejections(Document("1", "ketamine, ketaject"))
    assert (found.surface, found.reason) == ("ketaject", "other-source")
    assert "only from chebi" in found.detail
    assert find_rejections(joined, "ketamine, ketaject") == {}


def test_a_passage_ends_a_name(kb: KnowledgeBase) -> None:
    doc = Document("1", "heart attack", passages=(Passage(0, 5, "title"), Passage(6, 12, "abstract")))
    assert [each.reason for each in DictionaryDetector(kb).find_rejections(doc)] == ["sentence-boundary"]


def test_dictionary_detector_reports_rejections(kb: KnowledgeBase) -> None:
    assert isinstance(DictionaryDetector(kb), FindsRejections)


PIECES = st.sampled_from(
    ["heart", "attack", "Hearts", "MI", "MEN", "men", "all", "5-HT", "by", "infarction", "(", ")", " ", ". ", "myocardial"]
)


@given(text=st.lists(PIECES, max_size=20).map(" ".join), nested=st.booleans(), is_filtered=st.booleans())
def test_each_name_is_a_mention_or_rejected(kb: KnowledgeBase, text: str, nested: bool, is_filtered: bool) -> None:
    only = concepts_of_types(kb, ["disease"]) if is_filtered else None
    doc = Document("1", text)
    detector = DictionaryDetector(kb, DictionaryDetectorConfig(nested=nested), only=only)
    (detected,) = detector.detect([doc])
    mentions = {(each.start, each.end) for each in detected.document.mentions}
    rejections = detector.find_rejections(doc)
    spans = [(each.start, each.end) for each in rejections]
    assert spans == sorted(set(spans))
    assert mentions.isdisjoint(spans)
    assert all(text[each.start : each.end] == each.surface and each.detail for each in rejections)
    everything = DictionaryDetector(kb, DictionaryDetectorConfig(nested=True))
    (names,) = everything._names([doc])
    starts = {start for start, _ in (*mentions, *spans)}
    assert {start for start, _, _ in names} <= starts
