"""Tests of selecting concepts by type and id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onym.errors import ConfigError, UnknownConceptError
from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptFilter, concepts_of_types, concepts_with_ids, names_of, own_names_of, select_concepts
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
    assert select_concepts(KnowledgeBase.open(tiny_kb), ConceptFilter()) is None


def test_types_and_ids_are_combined_with_and(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    only = select_concepts(kb, ConceptFilter(types=("C14",), concepts=("mesh:D009203", "mesh:D005334")))
    assert only is not None
    assert [kb.concept_ids[row] for row in only.nonzero()[0].tolist()] == ["mesh:D009203"]
    by_ids = select_concepts(kb, ConceptFilter(concepts=("mesh:D005334",)))
    assert by_ids is not None
    assert by_ids.sum() == 1


def test_names_belong_to_selected_concepts(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    names = [kb.names[row] for row in names_of(kb, concepts_of_types(kb, ["C23"])).nonzero()[0].tolist()]
    assert names == ["fever", "hyperthermia", "pyrexia"]


def test_unknown_types_and_groups_are_named_in_the_error(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="filter-unknown"):
        select_concepts(KnowledgeBase.open(tiny_kb), ConceptFilter(types=("C99",)))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"under": ["D009369"]}, ["D001943", "D009369", "D009423"]),
        ({"under": ["mesh:d009369"], "mapped": True}, ["C000001", "D001943", "D009369", "D009423"]),
        ({"under": ["D001943", "D006261"]}, ["D001943", "D006261"]),
        ({"under": ["D009369"], "not_under": ["D009422"]}, ["D001943", "D009369"]),
        ({"not_under": ["D009369"]}, ["C000001", "D005334", "D006261", "D009422"]),
        ({"not_under": ["D009369"], "mapped": True}, ["D005334", "D006261", "D009422"]),
        ({"under": ["D009422"], "types": ["C04"]}, ["D009423"]),
        ({"under": ["D009422"], "concepts": ["D006261", "D005334"]}, ["D006261"]),
    ],
)
def test_a_branch_has_its_top_and_all_below(branch_kb: Path, wanted: dict[str, Any], found: list[str]) -> None:
    kb = KnowledgeBase.open(branch_kb)
    assert ids(kb, select_concepts(kb, ConceptFilter.of(wanted))) == [f"mesh:{local}" for local in found]


def test_mapped_alone_allows_all_concepts(branch_kb: Path) -> None:
    assert select_concepts(KnowledgeBase.open(branch_kb), ConceptFilter(mapped=True)) is None


def test_errors_name_the_option(branch_kb: Path, tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(branch_kb)
    with pytest.raises(UnknownConceptError, match="concept-unknown") as unknown:
        select_concepts(kb, ConceptFilter(not_under=("D77",)))
    assert unknown.value.where == "--not-under"
    with pytest.raises(ConfigError, match="hierarchy-missing") as missing:
        select_concepts(KnowledgeBase.open(tiny_kb), ConceptFilter(under=("D005334",)))
    assert missing.value.where == "--under"
    assert "build the knowledge base again" in missing.value.fix
    with pytest.raises(ConfigError, match="filter-empty"):
        select_concepts(kb, ConceptFilter(under=("D005334",), types=("C04",)))


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
