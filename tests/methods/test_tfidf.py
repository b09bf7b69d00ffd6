"""Tests of the TF-IDF linker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_of_types
from onym.methods import linker_config
from onym.methods.tfidf import TfidfLinker, TfidfLinkerConfig
from onym.types import Document, Mention
from tests.support.linking import link_with


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def document(text: str, *surfaces: str) -> Document:
    mentions = []
    for surface in surfaces:
        start = text.rindex(surface)
        mentions.append(Mention(start, start + len(surface), surface))
    return Document(f"d{len(text)}", text, tuple(mentions))


def answers(linker: TfidfLinker, doc: Document, **options: Any) -> list[list[tuple[str, float]]]:
    (linked,) = link_with(linker, [doc], **options)
    assert linked.document == doc
    assert [link.mention for link in linked.links] == list(doc.mentions)
    return [[(c.concept_id, round(c.score, 3)) for c in link.candidates] for link in linked.links]


def test_finds_misspelt_names(kb: KnowledgeBase) -> None:
    first, second = answers(TfidfLinker(kb), document("hart atack, pyrexias", "hart atack", "pyrexias"))
    assert first[0][0] == "mesh:D009203"
    assert second[0][0] == "mesh:D005334"


def test_an_abbreviation_is_read_as_the_document_defines_it(kb: KnowledgeBase) -> None:
    doc = document("Myocardial infarction (MI) is common. Treat MI early.", "MI")
    assert answers(TfidfLinker(kb), doc)[0][0] == ("mesh:D009203", 1.0)
    plain = answers(TfidfLinker(kb), doc, expand=False)[0]
    assert plain[:2] == [("mesh:D006973", 1.0), ("mesh:D009203", 1.0)]


def test_filter_promotes_the_best_remaining_concept(kb: KnowledgeBase) -> None:
    only = concepts_of_types(kb, ["C23"])
    doc = document("fever with high blood pressure", "fever", "high blood pressure")
    found = answers(TfidfLinker(kb), doc, only=only)
    assert found[0][0][0] == "mesh:D005334"
    assert {concept_id for each in found for concept_id, _ in each} == {"mesh:D005334"}


def test_keeps_document_order_and_empty_documents(kb: KnowledgeBase) -> None:
    docs = [Document(str(i), "fever", (Mention(0, 5, "fever"),) if i % 3 else ()) for i in range(600)]
    linked = list(link_with(TfidfLinker(kb), iter(docs), top_k=1))
    assert [each.document.id for each in linked] == [doc.id for doc in docs]
    assert [len(each.links) for each in linked] == [len(doc.mentions) for doc in docs]
    assert all(link.concept_id == "mesh:D005334" for each in linked for link in each.links)


def test_top_k(kb: KnowledgeBase) -> None:
    doc = document("heart pressure fever", "heart pressure fever")
    assert len(answers(TfidfLinker(kb), doc, top_k=2)[0]) == 2
    assert len(answers(TfidfLinker(kb), doc)[0]) == 3


def test_retrieves_the_configured_number_of_names(kb: KnowledgeBase) -> None:
    doc = document("heart pressure fever", "heart pressure fever")
    linker = TfidfLinker(kb, TfidfLinkerConfig(names_per_mention=1))
    queries: list[int] = []
    own = linker.similarity.top

    def top(texts: list[str], count: int) -> object:
        queries.append(count)
        return own(texts, count)

    linker.similarity.top = top  # type: ignore[method-assign, assignment]
    assert len(answers(linker, doc, top_k=1)[0]) == 1
    answers(linker, doc, top_k=3)
    assert queries == [1, 3]


def test_config_records_the_options(kb: KnowledgeBase) -> None:
    config = TfidfLinker(kb, TfidfLinkerConfig(names_per_mention=20)).config
    assert config == {"linker": "tfidf", "names_per_mention": 20}


def test_the_options(kb: KnowledgeBase) -> None:
    assert linker_config("tfidf", names_per_mention=20) == TfidfLinkerConfig(names_per_mention=20)
    with pytest.raises(ConfigError, match="config-invalid"):
        linker_config("tfidf", names_per_mention=0)
