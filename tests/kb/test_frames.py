"""A knowledge base as tables."""

from __future__ import annotations

from pathlib import Path

from onym.kb import KnowledgeBase
from onym.kb.frames import alias_frame, concept_frame, term_frame
from onym.kb.identity import AliasKind
from tests.kb.conftest import Builder


def test_concepts_and_terms_agree_with_the_objects(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    assert concept_frame(kb).rows() == [(concept.id, concept.preferred_name) for concept in kb]
    expected = [(c.id, t.text, t.form, t.kind.label, t.language) for c in kb for t in c.terms]
    assert term_frame(kb).rows() == expected
    assert term_frame(kb, 1, 2).rows() == [row for row in expected if row[0] == kb.concept_ids[1]]


def test_aliases_without_a_concept_are_null(build: Builder) -> None:
    kb = build("id\tname\tkind\treplaced_by\na:1\tfever\tpreferred\t\na:2\told\tretired\ta:1\na:3\tolder\tretired\t\n")
    assert alias_frame(kb).rows() == [("a:2", "a:1", AliasKind.RETIRED), ("a:3", None, AliasKind.RETIRED)]
