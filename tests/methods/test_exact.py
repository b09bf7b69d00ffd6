"""Tests of the exact-match linker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_of_types
from onym.methods import linker_config
from onym.methods.exact import ExactLinker, ExactLinkerConfig
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


def answers(linker: ExactLinker, doc: Document, **options: Any) -> list[list[tuple[str, float]]]:
    (linked,) = link_with(linker, [doc], **options)
    assert linked.document == doc
    assert [link.mention for link in linked.links] == list(doc.mentions)
    return [[(c.concept_id, round(c.score, 3)) for c in link.candidates] for link in linked.links]


def test_surfaces_are_normalised_and_nothing_else_is_found(kb: KnowledgeBase) -> None:
    doc = document("HEART-Attack and hart attack", "HEART-Attack", "hart attack")
    assert answers(ExactLinker(kb), doc) == [[("mesh:D009203", 1.0)], []]


def test_a_shared_name_is_a_tie(kb: KnowledgeBase) -> None:
    assert answers(ExactLinker(kb), document("an MI", "MI")) == [[("mesh:D006973", 1.0), ("mesh:D009203", 1.0)]]
    assert answers(ExactLinker(kb), document("an MI", "MI"), top_k=1) == [[("mesh:D006973", 1.0)]]


def test_unlinked_mention_has_a_nil_reason(kb: KnowledgeBase) -> None:
    (linked,) = link_with(ExactLinker(kb), [document("fever, chill", "fever", "chill")])
    assert [(link.concept_id, link.nil_reason) for link in linked.links] == [
        ("mesh:D005334", None),
        (None, "no-candidate"),
    ]


def test_an_abbreviation_is_read_as_the_document_defines_it(kb: KnowledgeBase) -> None:
    doc = document("Myocardial infarction (MI) is common. Treat MI early.", "MI")
    assert answers(ExactLinker(kb), doc) == [[("mesh:D009203", 1.0)]]
    assert len(answers(ExactLinker(kb), doc, expand=False)[0]) == 2


def test_filter_promotes_the_best_remaining_concept(kb: KnowledgeBase) -> None:
    only = concepts_of_types(kb, ["C23"])
    doc = document("fever with high blood pressure", "fever", "high blood pressure")
    found = answers(ExactLinker(kb), doc, only=only)
    assert found[0][0][0] == "mesh:D005334"
    assert {concept_id for each in found for concept_id, _ in each} == {"mesh:D005334"}


def test_keeps_document_order_and_empty_documents(kb: KnowledgeBase) -> None:
    docs = [Document(str(i), "fever", (Mention(0, 5, "fever"),) if i % 3 else ()) for i in range(600)]
    linked = list(link_with(ExactLinker(kb), iter(docs), top_k=1))
    assert [each.document.id for each in linked] == [doc.id for doc in docs]
    assert [len(each.links) for each in linked] == [len(doc.mentions) for doc in docs]
    assert all(link.concept_id == "mesh:D005334" for each in linked for link in each.links)


def test_config_records_the_options(kb: KnowledgeBase) -> None:
    linker = ExactLinker(kb, ExactLinkerConfig(inflections=True))
    assert linker.config == {"linker": "exact", "inflections": True}


def test_the_options(kb: KnowledgeBase) -> None:
    assert linker_config("exact", inflections=True) == ExactLinkerConfig(inflections=True)
    assert linker_config("exact", inflections=None) == ExactLinkerConfig()
    with pytest.raises(ConfigError, match="model is not an option of exact"):
        linker_config("exact", model="m")


def test_unicode_spaces_match_plain_spaces(kb: KnowledgeBase) -> None:
    doc = Document("1", "heart\u2009\u00a0attack", (Mention(0, 13, "heart\u2009\u00a0attack"),))
    (linked,) = link_with(ExactLinker(kb), [doc])
    assert linked.links[0].concept_id == "mesh:D009203"


def test_matches_singular_and_plural_on_request(kb: KnowledgeBase) -> None:
    doc = document("heart attacks, then fevers", "heart attacks", "fevers")
    assert answers(ExactLinker(kb), doc) == [[], []]
    assert answers(ExactLinker(kb, ExactLinkerConfig(inflections=True)), doc) == [
        [("mesh:D009203", 1.0)],
        [("mesh:D005334", 1.0)],
    ]
