"""Texts and documents through a pipeline that is open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from onym.detect.base import Detected
from onym.detect.dictionary import DictionaryConfig, DictionaryDetector
from onym.kb import KnowledgeBase
from onym.kb.masks import concepts_of_types
from onym.linkers.cascade import CascadeLinker
from onym.linkers.lexical import ExactLinker, TfidfLinker
from onym.pipeline.output import with_best
from onym.pipeline.pipeline import Pipeline
from onym.text.abbreviations import Abbreviations
from onym.types import Document, Mention, Relation


@pytest.fixture(scope="module")
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.fixture
def pipeline(kb: KnowledgeBase) -> Pipeline:
    return Pipeline(ExactLinker(kb), DictionaryDetector(kb))


def test_a_text(pipeline: Pipeline) -> None:
    linked = pipeline.link("High fever, then a heart attack.")
    assert [(link.mention.start, link.concept_id) for link in linked.links] == [(5, "mesh:D005334"), (19, "mesh:D009203")]
    assert linked.document.text == "High fever, then a heart attack."
    assert pipeline.link("").links == ()


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts whose abbreviations were looked for, one entry for each pass."""
    texts: list[str] = []
    own = Abbreviations.from_text

    def from_text(text: str) -> Abbreviations:
        texts.append(text)
        return own(text)

    monkeypatch.setattr(Abbreviations, "from_text", from_text)
    return texts


@pytest.mark.parametrize("linker", ["exact", "cascade"])
def test_abbreviations_are_looked_for_once_a_document(kb: KnowledgeBase, passes: list[str], linker: str) -> None:
    exact = ExactLinker(kb)
    pipeline = Pipeline(
        exact if linker == "exact" else CascadeLinker(exact=exact, dense=ExactLinker(kb)), DictionaryDetector(kb)
    )
    texts = [f"Heart attack (HA) and fever {number}. The HA, pain." for number in range(150)]
    linked = list(pipeline.iter_linked(Document(text, text) for text in texts))
    assert passes == texts
    assert all(type(each.document) is Document for each in linked)
    assert all([link.concept_id for link in each.links].count("mesh:D009203") == 3 for each in linked)


def test_abbreviations_are_not_looked_for_where_nothing_needs_them(kb: KnowledgeBase, passes: list[str]) -> None:
    detector = DictionaryDetector(kb, DictionaryConfig(abbreviations=False))
    assert Pipeline(ExactLinker(kb, expand=False), detector).link("Fever (F).").links
    assert not Pipeline(ExactLinker(kb)).link("Fever (F).").links
    assert passes == []


def test_a_cascade_alone_looks_for_abbreviations_once(kb: KnowledgeBase, passes: list[str]) -> None:
    doc = Document("1", "Bad things (BT). BT.", (Mention(17, 19, "BT"),))
    (linked,) = CascadeLinker(exact=ExactLinker(kb), dense=ExactLinker(kb)).link([doc])
    assert passes == [doc.text]
    assert linked.document is doc


def test_mentions_that_are_given_are_kept(pipeline: Pipeline) -> None:
    doc = Document("1", "High fever, then a heart attack.", (Mention(0, 4, "High", type="Sign"),))
    linked = pipeline.link(doc)
    assert linked.document == doc
    assert [link.concept_id for link in linked.links] == [None]


def test_a_document_keeps_what_else_it_has(pipeline: Pipeline) -> None:
    relation = Relation("causes", (("Arg1", "mesh:D005334"), ("Arg2", "mesh:D009203")))
    doc = Document("1", "fever", relations=(relation,), notes=(("journal", "x"),))
    linked = pipeline.link(doc)
    assert (linked.document.relations, linked.document.notes) == (doc.relations, doc.notes)


def test_many_documents_come_in_order_and_are_read_as_needed(pipeline: Pipeline) -> None:
    read: list[int] = []

    def documents() -> Iterator[Document]:
        for number in range(500):
            read.append(number)
            mentions = (Mention(3, 8, "fever"),) if number % 3 == 0 else ()
            yield Document(str(number), "no fever, no heart attack", mentions)

    linked = pipeline.iter_linked(documents())
    first = next(linked)
    assert len(read) < 300
    ids = [first.document.id, *(each.document.id for each in linked)]
    assert ids == [str(number) for number in range(500)]


def test_the_number_of_links_is_that_of_the_mentions(pipeline: Pipeline) -> None:
    docs = [Document("1", "fever"), Document("2", "x"), Document("3", "fever fever", (Mention(0, 5, "fever"),))]
    assert [len(each.links) for each in pipeline.iter_linked(docs)] == [1, 0, 1]


def test_without_a_detector_nothing_is_looked_for(kb: KnowledgeBase) -> None:
    assert Pipeline(ExactLinker(kb)).link("High fever").links == ()


def test_answers_below_the_threshold_are_none(kb: KnowledgeBase) -> None:
    doc = Document("1", "hart attack, fever", (Mention(0, 11, "hart attack"), Mention(13, 18, "fever")))
    linked = Pipeline(TfidfLinker(kb), threshold=0.99).link(doc)
    assert [link.concept_id for link in linked.links] == [None, "mesh:D005334"]
    assert [mention.concept_ids for mention in with_best(linked).mentions] == [(), ("mesh:D005334",)]


def test_only_some_concepts(kb: KnowledgeBase) -> None:
    only = concepts_of_types(kb, ["C14"])
    pipeline = Pipeline(ExactLinker(kb), DictionaryDetector(kb, only=only), only=only)
    assert [link.concept_id for link in pipeline.link("fever, heart attack").links] == ["mesh:D009203"]
    assert pipeline.config["concepts_allowed"] == 2


def test_the_configuration_names_every_part(pipeline: Pipeline) -> None:
    assert pipeline.config["detector"]["detector"] == "dictionary"
    assert pipeline.config["linker"]["linker"] == "exact"
    source = pipeline.source()
    assert source["kb"]["digest"] == pipeline.kb.digest
    assert source["detector"] == pipeline.config["detector"]
    assert source["linker"] == pipeline.config["linker"]


def test_a_detector_sees_documents_together(kb: KnowledgeBase) -> None:
    sizes = []

    class Counting:
        @property
        def config(self) -> dict[str, Any]:
            return {"detector": "counting"}

        def detect(self, documents: Iterable[Document]) -> Iterator[Detected]:
            batch = list(documents)
            sizes.append(len(batch))
            return (Detected(doc, ()) for doc in batch)

    list(Pipeline(ExactLinker(kb), Counting()).iter_linked(Document(str(number), "fever") for number in range(100)))
    assert sizes == [64, 36]
