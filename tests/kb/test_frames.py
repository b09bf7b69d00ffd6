"""Tests of the tables (dataframes) of a knowledge base, compared with its objects."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from onym.kb import KnowledgeBase
from onym.kb.export import alias_frame, concept_frame, join_frame, term_frame, type_frame
from onym.kb.identity import AliasKind
from tests.kb.conftest import Builder


def test_concepts_and_terms_agree_with_the_objects(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    assert concept_frame(kb).rows() == [(concept.id, concept.preferred_name) for concept in kb]
    expected = [(c.id, t.text, t.form, t.kind.label, t.language) for c in kb for t in c.terms]
    assert term_frame(kb).rows() == expected
    assert term_frame(kb, np.array([1])).rows() == [row for row in expected if row[0] == kb.concept_ids[1]]


def test_aliases_without_a_concept_are_null(build: Builder) -> None:
    kb = build("id\tname\tkind\treplaced_by\na:1\tfever\tpreferred\t\na:2\told\tretired\ta:1\na:3\tolder\tretired\t\n")
    assert alias_frame(kb).rows() == [("a:2", "a:1", AliasKind.RETIRED), ("a:3", None, AliasKind.RETIRED)]


def test_join_frame_has_the_rule_of_each_join(build: Builder) -> None:
    tables = (
        "id\tname\ttypes\nmesh:1\tFever\tC23\n",
        "id\tname\tsynonyms\txrefs\nmondo:1\tfever\t\t\nmondo:2\tcold\t\tomim:1\n",
    )
    kb = build(*tables, joins={"by_name": {"mondo": "both"}})
    assert join_frame(kb).rows() == [("mondo:1", "mesh:1", "name")]


def test_type_frame_counts_groups_and_types(build: Builder) -> None:
    kb = build("id\tname\ttypes\nmesh:1\tFever\tC23\nmesh:2\tIron\tD01\n", groups=True)
    assert type_frame(kb).rows() == [
        ("group", "Chemical", 1), ("group", "Disease", 1), ("group", "Phenotype", 1), ("type", "C23", 1), ("type", "D01", 1),
    ]  # fmt: skip
    assert type_frame(build("id\tname\nmesh:1\tFever\n", dest="plain")).is_empty()
