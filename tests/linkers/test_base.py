"""Filters, and the order of candidates."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.linkers.base import are_tied, concepts_of_types, concepts_with_ids, ranked
from onym.types import Candidate


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def ids(kb: KnowledgeBase, mask: object) -> list[str]:
    return [kb.concept_ids[i] for i, wanted in enumerate(mask) if wanted]  # type: ignore[arg-type, var-annotated]


def test_concepts_of_types(kb: KnowledgeBase) -> None:
    assert ids(kb, concepts_of_types(kb, ["C14"])) == ["mesh:D006973", "mesh:D009203"]
    assert ids(kb, concepts_of_types(kb, ["C14", "C23"])) == ["mesh:D005334", "mesh:D006973", "mesh:D009203"]


def test_an_unknown_type_or_id_is_said(kb: KnowledgeBase) -> None:
    with pytest.raises(ConfigError, match="filter-unknown"):
        concepts_of_types(kb, ["C14", "C99"])
    with pytest.raises(ConfigError, match="filter-unknown"):
        concepts_with_ids(kb, ["mesh:D999999"])


def test_concepts_with_ids_takes_any_spelling(kb: KnowledgeBase) -> None:
    assert ids(kb, concepts_with_ids(kb, ["D005334", "MESH:D009203"])) == ["mesh:D005334", "mesh:D009203"]


def test_a_concept_stands_once_by_its_best_name(kb: KnowledgeBase) -> None:
    names = [(kb.find("mi"), 0.9), (kb.find("heart attack"), 0.8), (kb.find("fever"), 0.7)]
    candidates = ranked(kb, names, 10)
    assert candidates == (
        Candidate("mesh:D006973", "mi", 0.9),
        Candidate("mesh:D009203", "mi", 0.9),
        Candidate("mesh:D005334", "fever", 0.7),
    )
    assert ranked(kb, names, 2) == candidates[:2]


def test_only_the_wanted_are_ranked(kb: KnowledgeBase) -> None:
    only = concepts_with_ids(kb, ["mesh:D009203"])
    assert [c.concept_id for c in ranked(kb, [(kb.find("mi"), 0.9)], 10, only)] == ["mesh:D009203"]


def test_ties() -> None:
    first, second = Candidate("a:1", "x", 1.0), Candidate("a:2", "y", 0.5)
    assert not are_tied([])
    assert not are_tied([first])
    assert not are_tied([first, second])
    assert are_tied([first, Candidate("a:3", "z", 1.0), second])
