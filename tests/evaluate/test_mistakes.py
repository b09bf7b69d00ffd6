"""Tests of the most frequent errors: grouping, order, names, runner-up and the rank of gold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.evaluate.cases import Case, Ranking, ranking_of
from onym.evaluate.metrics import gold_ranks
from onym.evaluate.mistakes import Mistake, common_mistakes
from onym.kb import KnowledgeBase
from onym.types import Mention

FEVER, INFARCTION, HYPERTENSION, UNKNOWN = "mesh:D005334", "mesh:D009203", "mesh:D006973", "mesh:D999999"


@pytest.fixture(scope="module")
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


def parse_ranking(*answers: str) -> Ranking:
    """Parse a ranking, best first: `=` joins answers with equal scores, `+` joins the ids of one answer."""
    return ranking_of([(ids.split("+"), -float(rank)) for rank, tie in enumerate(answers) for ids in tie.split("=")])


def case(surface: str, gold: str, *answers: str) -> Case:
    mention = Mention(0, len(surface), surface)
    return Case("1", frozenset(gold.split("+")), (parse_ranking(*answers),), mentions=(mention,))


def mistakes(cases: list[Case], kb: KnowledgeBase, limit: int = 20) -> list[Mistake]:
    return common_mistakes(cases, gold_ranks(cases, "strict"), kb, limit)


def test_right_answers_are_not_mistakes(kb: KnowledgeBase) -> None:
    assert mistakes([case("fever", FEVER, FEVER, INFARCTION)], kb) == []


def test_mistakes_are_grouped_most_frequent_first(kb: KnowledgeBase) -> None:
    found = mistakes(
        [
            case("hot", FEVER, INFARCTION),
            case("MI", INFARCTION, HYPERTENSION),
            case("mi", INFARCTION, HYPERTENSION),
            case("MI", INFARCTION, FEVER),
            case("MI", HYPERTENSION, FEVER),
            case("fever", FEVER, FEVER),
        ],
        kb,
    )
    assert [(m.count, m.surface, m.gold.ids, m.answered.ids) for m in found] == [
        (2, "MI", (INFARCTION,), (HYPERTENSION,)),
        (1, "hot", (FEVER,), (INFARCTION,)),
        (1, "MI", (HYPERTENSION,), (FEVER,)),
        (1, "MI", (INFARCTION,), (FEVER,)),
    ]
    assert found[0].gold.names == ("Myocardial Infarction",)
    assert found[0].answered.names == ("Hypertension",)


def test_number_of_mistakes_is_limited(kb: KnowledgeBase) -> None:
    cases = [case(f"x{number:02d}", FEVER, INFARCTION) for number in range(30)]
    assert [m.surface for m in mistakes(cases, kb, 3)] == ["x00", "x01", "x02"]


def test_rank_of_gold(kb: KnowledgeBase) -> None:
    cases = [
        case("hot", FEVER, INFARCTION, HYPERTENSION, FEVER),
        case("hot", FEVER, INFARCTION, FEVER, HYPERTENSION),
        case("hot", FEVER, INFARCTION, FEVER),
        case("hot", FEVER, INFARCTION),
    ]
    (found,) = mistakes(cases, kb)
    assert (found.count, found.found, found.gold_ranks, found.best_gold_rank) == (4, 3, ((2, 2), (3, 1)), 2)
    assert found.runner_up.ids == (FEVER,)


def test_gold_in_no_ranking(kb: KnowledgeBase) -> None:
    (found,) = mistakes([case("hot", UNKNOWN, INFARCTION)], kb)
    assert (found.found, found.gold_ranks, found.best_gold_rank) == (0, (), None)
    assert found.gold.names == (UNKNOWN,)
    assert found.runner_up.ids == found.runner_up.names == ()


def test_no_answer_at_all(kb: KnowledgeBase) -> None:
    (found,) = mistakes([case("hot", FEVER)], kb)
    assert (found.answered.ids, found.tied, found.runner_up.ids) == ((), 0, ())


def test_tie_is_a_mistake_with_tie_size(kb: KnowledgeBase) -> None:
    (found,) = mistakes([case("MI", INFARCTION, f"{HYPERTENSION}={INFARCTION}", FEVER)], kb)
    assert (found.tied, found.best_gold_rank) == (2, 2)
    assert found.answered.names == ("Hypertension", "Myocardial Infarction")
    assert found.runner_up.names == ("Fever",)


def test_partly_answered_composite(kb: KnowledgeBase) -> None:
    (found,) = mistakes([case("both", f"{FEVER}+{INFARCTION}", FEVER)], kb)
    assert found.gold.names == ("Fever", "Myocardial Infarction")
    assert found.answered.names == ("Fever",)


def test_parts_of_composite_are_joined(kb: KnowledgeBase) -> None:
    parts = (Mention(0, 3, "hot"), Mention(4, 6, "MI"))
    whole = Case(
        "1", frozenset({FEVER, INFARCTION}), (parse_ranking(FEVER), parse_ranking(HYPERTENSION, INFARCTION)), mentions=parts
    )
    (found,) = mistakes([whole], kb)
    assert found.surface == "hot | MI"
    assert found.answered.names == ("Fever", "Hypertension")
    assert found.runner_up.names == ("Myocardial Infarction",)
    assert found.tied == 1


def test_surfaces_and_names_stay_out_of_logs(kb: KnowledgeBase) -> None:
    (found,) = mistakes([case("hot", FEVER, INFARCTION)], kb)
    assert "hot" not in repr(found)


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([FEVER, UNKNOWN]), st.sampled_from([FEVER, ""]))))
def test_each_mistake_is_counted_once(kb: KnowledgeBase, made: list[tuple[str, str, str]]) -> None:
    cases = [case(surface, gold, *filter(None, [answer])) for surface, gold, answer in made]
    found = mistakes(cases, kb)
    assert sum(m.count for m in found) == sum(rank != 1 for rank in gold_ranks(cases, "strict"))
    assert [m.count for m in found] == sorted((m.count for m in found), reverse=True)
