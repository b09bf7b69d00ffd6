"""Tests of sampling similar concepts with enough names: reproducible, and without shared names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.errors import ConfigError
from onym.evaluate import names as choice_module
from onym.evaluate.names import MAX_NAMES, MIN_NAMES, choose_names, sample_concepts
from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_of_types, concepts_with_ids
from tests.evaluate.names.families import build_families


def ids(kb: KnowledgeBase, concepts: list[int]) -> list[str]:
    return [kb.concept_ids[concept] for concept in concepts]


def test_similar_concepts_are_sampled_together(families: KnowledgeBase) -> None:
    drawn = ids(families, sample_concepts(families, 8))
    assert len(set(drawn)) == 8
    first, second = ({concept_id[:7] for concept_id in part} for part in (drawn[:4], drawn[4:]))
    assert (len(first), len(second)) == (1, 1), "four of one disease, then four of one"


def test_sample_depends_on_seed(families: KnowledgeBase) -> None:
    drawn = [tuple(sample_concepts(families, 6, seed=seed)) for seed in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 2


def test_sampled_concepts_have_enough_names(families: KnowledgeBase) -> None:
    drawn = sample_concepts(families, 40)
    assert len(set(drawn)) == len(drawn) == 20
    assert min(len(families.names_of(concept)) for concept in drawn) >= MIN_NAMES


def test_sample_restricted_to_types(families: KnowledgeBase) -> None:
    drawn = sample_concepts(families, 5, only=concepts_of_types(families, ["T2"]))
    assert {families.concept_ids[concept][:7] for concept in drawn} == {"mesh:D2"}


def test_small_pool(families: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice_module, "_POOL", 3)
    assert len(set(sample_concepts(families, 20))) == 3


@pytest.mark.parametrize("wanted", [["mesh:P1"], ["mesh:P1", "mesh:S1", "mesh:D00"]])
def test_rejects_too_few_concepts_with_enough_names(families: KnowledgeBase, wanted: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        sample_concepts(families, 5, only=concepts_with_ids(families, wanted))
    assert caught.value.code == "names-too-few"
    assert "--concepts" in caught.value.fix


def test_names_belong_to_their_concepts(families: KnowledgeBase) -> None:
    concepts = sample_concepts(families, 6)
    choice = choose_names(families, concepts)
    assert choice.labels == tuple(families.preferred_form(concept) for concept in concepts)
    for name, owner in zip(choice.names, choice.owners.tolist(), strict=True):
        assert families.concepts_named(name) == [concepts[owner]]
    assert choice.counts == {"concepts": 6, "names": 36, "names_of_several_concepts": 0, "names_over_the_limit": 0}


def test_shared_names_are_skipped(families: KnowledgeBase) -> None:
    both = [families.resolve(concept_id)[0] for concept_id in ("mesh:S1", "mesh:S2", "mesh:D00")]
    choice = choose_names(families, both)
    assert "cold" not in choice.names
    assert choice.shared == 1
    assert choice.owners.tolist() == [0, 0, 1, 1, 2, 2, 2, 2, 2, 2]
    assert "cold" in choose_names(families, both[1:]).names, "its other concept is not shown"


def test_surplus_names_are_sampled_keeping_the_first(tmp_path: Path) -> None:
    many = "|".join(f"synonym number {number:02}" for number in range(50))
    kb = build_families(tmp_path, f"mesh:M1\tmany names\t{many}\tT9")
    concepts = [kb.resolve("mesh:M1")[0], kb.resolve("mesh:D00")[0]]
    choice = choose_names(kb, concepts)
    own = [name for name, owner in zip(choice.names, choice.owners, strict=True) if owner == 0]
    assert len(set(own)) == len(own) == MAX_NAMES
    assert own[0] == "many names"
    assert choice.over == 51 - MAX_NAMES
    assert choice.names == choose_names(kb, concepts).names
    assert choice.names != choose_names(kb, concepts, seed=1).names


def test_rejects_too_many_concepts(families: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice_module, "MAX_CONCEPTS", 3)
    with pytest.raises(ConfigError, match="cannot plot 4 concepts") as caught:
        choose_names(families, range(4))
    assert caught.value.code == "config-invalid"


@pytest.mark.parametrize("concept_ids", [[], ["mesh:D00"], ["mesh:P1", "mesh:S1"]])
def test_rejects_too_few_names(families: KnowledgeBase, concept_ids: list[str]) -> None:
    concepts = np.flatnonzero(concepts_with_ids(families, concept_ids)).tolist()
    with pytest.raises(ConfigError) as caught:
        choose_names(families, concepts)
    assert caught.value.code == "names-too-few"
