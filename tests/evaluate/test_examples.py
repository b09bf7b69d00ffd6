"""Tests of sampling right and wrong mentions as examples, with their best candidates and the gold concept."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.evaluate.cases import Case, ConceptResolver, gold_cases
from onym.evaluate.metrics import gold_ranks
from onym.evaluate.mistakes import NEIGHBOURS, OF_EACH, Example, examples_of
from onym.kb import KnowledgeBase
from onym.outputs.predictions import Answer
from onym.types import Document, Mention

FEVER, INFARCTION, HYPERTENSION, UNKNOWN = "mesh:D005334", "mesh:D009203", "mesh:D006973", "mesh:D999999"


@pytest.fixture(scope="module")
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def case(surface: str, gold: str, *answers: tuple[str, float], resolver: ConceptResolver | None = None) -> Case:
    doc = Document("1", surface, (Mention(0, len(surface), surface, (gold,)),))
    ranked: list[Answer] = [((concept_id,), score, number) for number, (concept_id, score) in enumerate(answers)]
    [found] = gold_cases([doc], lambda key: ranked, resolver)
    return found


def examples(cases: list[Case], kb: KnowledgeBase, seed: int = 0) -> list[Example]:
    return examples_of(cases, gold_ranks(cases, "strict"), kb, seed=seed)


def many(count: int) -> list[Case]:
    right = [case(f"fever {number}", FEVER, (FEVER, 0.9), (INFARCTION, 0.2)) for number in range(count)]
    return right + [case(f"hot {number}", FEVER, (INFARCTION, 0.8), (FEVER, 0.4)) for number in range(count)]


def test_right_examples_come_before_wrong_ones(kb: KnowledgeBase) -> None:
    found = examples(many(30), kb)
    assert [example.is_right for example in found] == [True] * OF_EACH + [False] * OF_EACH
    assert len({example.surface for example in found}) == 2 * OF_EACH


def test_sample_depends_on_seed(kb: KnowledgeBase) -> None:
    drawn = [[example.surface for example in examples(many(30), kb, seed)] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_duplicate_mentions_are_drawn_once(kb: KnowledgeBase) -> None:
    cases = [case(surface, FEVER, (FEVER, 0.9), (INFARCTION, 0.2)) for surface in ("fever", "Fever", "FEVER", "heat")]
    assert sorted(example.surface.lower() for example in examples(cases, kb)) == ["fever", "heat"]


def test_neighbours_have_names_scores_and_ranks(kb: KnowledgeBase) -> None:
    [found] = examples([case("hot", HYPERTENSION, (FEVER, 0.9), (INFARCTION, 0.5), (HYPERTENSION, 0.25))], kb)
    assert found.gold.names == ("Hypertension",)
    assert (found.gold_rank, found.is_in_kb) == (3, True)
    assert [(near.rank, near.concepts.names[0], near.score, near.is_gold) for near in found.neighbours] == [
        (1, "Fever", 0.9, False),
        (2, "Myocardial Infarction", 0.5, False),
        (3, "Hypertension", 0.25, True),
    ]


def test_lower_ranked_gold_is_appended(kb: KnowledgeBase) -> None:
    others = [(f"mesh:X{number}", 0.9 - number / 10) for number in range(7)]
    [found] = examples([case("hot", FEVER, *others, (FEVER, 0.1), (INFARCTION, 0.05))], kb)
    assert [near.rank for near in found.neighbours] == [*range(1, NEIGHBOURS + 1), 8]
    assert [near.is_gold for near in found.neighbours] == [False] * NEIGHBOURS + [True]
    assert found.gold_rank == 8


def test_gold_not_found_and_gold_not_in_kb(kb: KnowledgeBase) -> None:
    cases = [case("hot", FEVER, (INFARCTION, 0.9), resolver=ConceptResolver(kb))]
    cases.append(case("odd", UNKNOWN, (INFARCTION, 0.8), resolver=ConceptResolver(kb)))
    found = {example.surface: example for example in examples(cases, kb)}
    assert [found[surface].gold_rank for surface in ("hot", "odd")] == [None, None]
    assert [found[surface].is_in_kb for surface in ("hot", "odd")] == [True, False]
    assert found["odd"].gold.names == (UNKNOWN,)


def test_tied_answers_are_all_listed(kb: KnowledgeBase) -> None:
    [found] = examples([case("MI", INFARCTION, (HYPERTENSION, 1.0), (INFARCTION, 1.0), (FEVER, 0.5))], kb)
    assert [near.score for near in found.neighbours] == [1.0, 1.0, 0.5]
    assert not found.is_right


def test_no_examples_if_all_scores_are_equal(kb: KnowledgeBase) -> None:
    cases = [case("fever", FEVER, (FEVER, 1.0)), case("hot", FEVER, (INFARCTION, 1.0))]
    assert examples(cases, kb) == []


def test_cases_without_scores_answers_or_one_mention_are_not_drawn(kb: KnowledgeBase) -> None:
    parts = (Mention(0, 3, "hot"), Mention(4, 6, "MI"))
    ranking = ((frozenset({FEVER}),), (frozenset({INFARCTION}),))
    cut = Case("1", frozenset({FEVER}), (ranking, ranking), scores=((0.9, 0.1), (0.9, 0.1)), mentions=parts)
    without = Case("1", frozenset({FEVER}), (ranking,), mentions=parts[:1])
    assert examples([cut, without, case("hot", FEVER)], kb) == []
    assert len(examples([cut, without, case("hot", FEVER, (FEVER, 0.9), (INFARCTION, 0.2))], kb)) == 1


def test_surfaces_and_names_stay_out_of_logs(kb: KnowledgeBase) -> None:
    [found] = examples([case("hot", FEVER, (INFARCTION, 0.9), (FEVER, 0.2))], kb)
    assert "hot" not in repr(found)
    assert "Fever" not in repr(found)
