"""Exact match and likeness."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.kb import KnowledgeBase
from onym.linkers.base import Linker, concepts_of_types
from onym.linkers.exact import ExactLinker
from onym.linkers.tfidf import TfidfLinker
from onym.types import Document, Mention


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def document(text: str, *surfaces: str) -> Document:
    mentions = []
    for surface in surfaces:
        start = text.rindex(surface)
        mentions.append(Mention(start, start + len(surface), surface))
    return Document(f"d{len(text)}", text, tuple(mentions))


def answers(linker: Linker, doc: Document, **options: object) -> list[list[tuple[str, float]]]:
    (linked,) = linker.link([doc], **options)  # type: ignore[arg-type]
    assert linked.document is doc
    assert [link.mention for link in linked.links] == list(doc.mentions)
    return [[(c.concept_id, round(c.score, 3)) for c in link.candidates] for link in linked.links]


def test_exact_normalises_and_finds_nothing_else(kb: KnowledgeBase) -> None:
    doc = document("HEART-Attack and hart attack", "HEART-Attack", "hart attack")
    assert answers(ExactLinker(kb), doc) == [[("mesh:D009203", 1.0)], []]


def test_a_shared_name_is_a_tie(kb: KnowledgeBase) -> None:
    assert answers(ExactLinker(kb), document("an MI", "MI")) == [[("mesh:D006973", 1.0), ("mesh:D009203", 1.0)]]


def test_an_abbreviation_is_read_as_the_document_defines_it(kb: KnowledgeBase) -> None:
    doc = document("Myocardial infarction (MI) is common. Treat MI early.", "MI")
    assert answers(ExactLinker(kb), doc) == [[("mesh:D009203", 1.0)]]
    assert len(answers(ExactLinker(kb, expand_abbreviations=False), doc)[0]) == 2
    assert answers(TfidfLinker(kb), doc)[0][0] == ("mesh:D009203", 1.0)


def test_tfidf_finds_what_is_misspelt(kb: KnowledgeBase) -> None:
    first, second = answers(TfidfLinker(kb), document("hart atack, pyrexias", "hart atack", "pyrexias"))
    assert first[0][0] == "mesh:D009203"
    assert second[0][0] == "mesh:D005334"


@pytest.mark.parametrize("kind", [ExactLinker, TfidfLinker])
def test_a_filter_holds_and_the_best_of_the_rest_comes_up(kb: KnowledgeBase, kind: type[ExactLinker | TfidfLinker]) -> None:
    only = concepts_of_types(kb, ["C23"])
    doc = document("fever with high blood pressure", "fever", "high blood pressure")
    found = answers(kind(kb), doc, only=only)
    assert found[0][0][0] == "mesh:D005334"
    assert {concept_id for each in found for concept_id, _ in each} == {"mesh:D005334"}


@pytest.mark.parametrize("kind", [ExactLinker, TfidfLinker])
def test_documents_come_back_in_order_and_empty_ones_too(kb: KnowledgeBase, kind: type[ExactLinker | TfidfLinker]) -> None:
    docs = [Document(str(i), "fever", (Mention(0, 5, "fever"),) if i % 3 else ()) for i in range(600)]
    linked = list(kind(kb).link(iter(docs), top_k=1))
    assert [each.document.id for each in linked] == [doc.id for doc in docs]
    assert [len(each.links) for each in linked] == [len(doc.mentions) for doc in docs]
    assert all(link.concept_id == "mesh:D005334" for each in linked for link in each.links)


def test_top_k(kb: KnowledgeBase) -> None:
    doc = document("heart pressure fever", "heart pressure fever")
    assert len(answers(TfidfLinker(kb), doc, top_k=2)[0]) == 2
    assert len(answers(TfidfLinker(kb), doc)[0]) == 3


def test_the_configuration_says_what_was_used(kb: KnowledgeBase) -> None:
    assert ExactLinker(kb, expand_abbreviations=False).config == {"linker": "exact", "expand_abbreviations": False}
    assert TfidfLinker(kb).config["linker"] == "tfidf"


def test_the_spaces_of_typesetters_are_spaces(tiny_kb: Path) -> None:
    linker = ExactLinker(KnowledgeBase.open(tiny_kb))
    doc = Document("1", "heart\u2009\u00a0attack", (Mention(0, 13, "heart\u2009\u00a0attack"),))
    (linked,) = linker.link([doc])
    assert linked.links[0].concept_id == "mesh:D009203"
