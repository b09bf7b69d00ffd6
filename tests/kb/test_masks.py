"""Tests of selecting concepts by type and id."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_of_types, concepts_with_ids, names_of, own_names_of, select_concepts
from tests.kb.conftest import Builder


def ids(kb: KnowledgeBase, mask: object) -> list[str]:
    return [kb.concept_ids[i] for i, wanted in enumerate(mask) if wanted]  # type: ignore[arg-type, var-annotated]


def test_concepts_of_types(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    assert ids(kb, concepts_of_types(kb, ["C14"])) == ["mesh:D006973", "mesh:D009203"]
    assert ids(kb, concepts_of_types(kb, ["C14", "C23"])) == ["mesh:D005334", "mesh:D006973", "mesh:D009203"]


def test_concepts_with_ids_takes_any_spelling(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    assert ids(kb, concepts_with_ids(kb, ["D005334", "MESH:D009203"])) == ["mesh:D005334", "mesh:D009203"]


def test_an_unknown_type_or_id_raises_filter_unknown(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    with pytest.raises(ConfigError, match="filter-unknown"):
        concepts_of_types(kb, ["C14", "C99"])
    with pytest.raises(ConfigError, match="filter-unknown"):
        concepts_with_ids(kb, ["mesh:D999999"])


def test_no_filter_allows_all_concepts(tiny_kb: Path) -> None:
    assert select_concepts(KnowledgeBase.open(tiny_kb)) is None


def test_types_and_ids_are_combined_with_and(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    only = select_concepts(kb, ["C14"], ["mesh:D009203", "mesh:D005334"])
    assert only is not None
    assert [kb.concept_ids[row] for row in only.nonzero()[0].tolist()] == ["mesh:D009203"]
    by_ids = select_concepts(kb, (), ["mesh:D005334"])
    assert by_ids is not None
    assert by_ids.sum() == 1


def test_names_belong_to_selected_concepts(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    names = [kb.names[row] for row in names_of(kb, concepts_of_types(kb, ["C23"])).nonzero()[0].tolist()]
    assert names == ["fever", "hyperthermia", "pyrexia"]


def test_unknown_types_and_groups_are_named_in_the_error(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="filter-unknown"):
        select_concepts(KnowledgeBase.open(tiny_kb), ["C99"])


GROUPED = "id\tname\tsynonyms\tsemantic_types\nmesh:D1\tfever\tpyrexia\tC23\nmesh:D2\tiron\t\tD01\nmesh:D3\tlead\t\t\n"
LENDING = "id\tname\tsynonyms\txrefs\nhp:1\tFever\thot\tmesh:D1\n"


def test_groups_and_types_are_both_filters(build: Builder) -> None:
    kb = build(GROUPED, groups=True)
    assert ids(kb, concepts_of_types(kb, ["Disease"])) == ["mesh:D1"]
    assert ids(kb, concepts_of_types(kb, ["Phenotype", "D01"])) == ["mesh:D1", "mesh:D2"]
    with pytest.raises(ConfigError, match="filter-unknown"):
        concepts_of_types(kb, ["Gene"])


def test_own_names_exclude_those_of_joined_vocabularies(build: Builder) -> None:
    kb = build(GROUPED, LENDING, joins={"many_to_one": "apart"})
    everything = np.ones(len(kb), dtype=bool)
    assert names_of(kb, everything).all()
    own = own_names_of(kb, everything)
    assert [kb.names[i] for i in range(len(kb.names)) if not own[i]] == ["hot"]
    fever = own_names_of(kb, concepts_with_ids(kb, ["mesh:D1"]))
    assert [kb.names[i] for i in range(len(kb.names)) if fever[i]] == ["fever", "pyrexia"]
