"""Tests of building evaluation cases from answers and gold mentions."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.corpora.base import PART_OF
from onym.evaluate.cases import Case, ConceptResolver, Ranking, gold_cases, ranking_of
from onym.evaluate.metrics import PROTOCOLS
from onym.kb import KnowledgeBase
from onym.kb.build import build_kb
from onym.kb.recipe import Recipe, SourceConfig
from onym.outputs.predictions import Answer, Key
from onym.types import Document, Mention


def sets(ranking: Ranking) -> list[list[set[str]]]:
    return [[set(ids) for ids in rank] for rank in ranking]


def test_equal_scores_share_a_rank() -> None:
    ranking = ranking_of([(["b"], 2.0), (["a"], 1.0), (["c"], 1.0), (["d"], 0.0)])
    assert sets(ranking) == [[{"b"}], [{"a"}, {"c"}], [{"d"}]]


def test_ids_of_one_concept_are_merged_at_best_rank() -> None:
    same = {"old:1": "new:1"}
    ranking = ranking_of([(["new:1"], 2.0), (["old:1"], 2.0), (["x"], 1.0), (["old:1"], 0.5)], lambda i: same.get(i, i))
    assert sets(ranking) == [[{"new:1"}], [{"x"}]]


def test_an_answer_of_several_ids_is_one_answer() -> None:
    assert sets(ranking_of([(["a", "b"], 1.0)])) == [[{"a", "b"}]]


def test_each_rank_has_its_score() -> None:
    doc = Document("d", "fever", (Mention(0, 5, "fever", ("a:1",)),))
    answers: list[Answer] = [(("a:2",), 0.5, 1), (("a:1",), 0.9, 0), (("a:3",), 0.5, 2), (("a:1",), 0.2, 3), (("a:4",), 0.1, 4)]
    [case] = gold_cases([doc], lambda _: answers)
    assert sets(case.rankings[0]) == [[{"a:1"}], [{"a:2"}, {"a:3"}], [{"a:4"}]]
    assert case.scores == ((0.9, 0.5, 0.1),)


def test_mentions_without_gold_are_skipped_and_parts_merged() -> None:
    part = ((PART_OF, "1"),)
    doc = Document(
        "d",
        "breast, ovary, it",
        (
            Mention(0, 6, "breast", ("a:1", "a:2"), notes=part),
            Mention(8, 13, "ovary", ("a:1", "a:2"), notes=part),
            Mention(15, 17, "it"),
            Mention(0, 6, "breast", ("a:3",)),
        ),
    )
    keys: list[Key] = []

    def answers(key: Key) -> tuple[Answer, ...]:
        keys.append(key)
        return ()

    first, second = gold_cases([doc], answers)
    assert (len(first.mentions), first.is_composite, first.is_in_kb) == (2, True, True)
    assert first.gold == {"a:1", "a:2"}
    assert (len(second.mentions), second.gold, second.is_in_kb) == (1, frozenset({"a:3"}), True)
    assert keys == [("d", 0, 6), ("d", 8, 13), ("d", 0, 6)]
    assert first.document is doc


def test_gold_ids_of_one_concept_are_merged(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    doc = Document("d", "fever", (Mention(0, 5, "fever", ("mesh:D005334", "MESH:D005334")),))
    (case,) = gold_cases([doc], lambda _: (), ConceptResolver(kb))
    assert case.gold == {"mesh:D005334"}
    assert not case.is_composite


def test_replaced_ids_are_resolved_before_kb_lookup(tiny_kb: Path) -> None:
    resolver = ConceptResolver(KnowledgeBase.open(tiny_kb), {"mesh:C000001": "mesh:D005334"})
    assert resolver.canonical("MESH:C000001") == "mesh:D005334"
    assert resolver.canonical("mesh:C000002") == "mesh:C000002"
    assert resolver.concepts_with_id("mesh:C000001") == {"mesh:D005334"}
    assert resolver.concepts_with_id("mesh:C000002") == frozenset()


def test_gold_not_in_kb(tiny_kb: Path) -> None:
    doc = Document("d", "fever", (Mention(0, 5, "fever", ("mesh:D005334", "mesh:D999999")),))
    (case,) = gold_cases([doc], lambda _: (), ConceptResolver(KnowledgeBase.open(tiny_kb)))
    assert not case.is_in_kb
    assert case.gold == {"mesh:D005334", "mesh:D999999"}


def dictionary(folder: Path) -> KnowledgeBase:
    """Build a KB in which `mesh:D2` is a concept and also an alternative id of two others."""
    (folder / "d.txt").write_text("D1|D2||one\nD3|D2||three\nD2||two\nD4||four\n")
    source = SourceConfig(path="d.txt", format="biosyn", name="d")
    build_kb(Recipe(sources=(source,), merge=False), folder / "kb", root=folder)
    return KnowledgeBase.open(folder / "kb")


@pytest.mark.parametrize(
    ("gold", "answer", "strict"),
    [
        (("D2",), "D2", 1),
        (("D2",), "D1", 1),  # D1 lists D2 as an alternative id
        (("D2",), "D3", 1),
        (("D1",), "D1", 1),
        (("D1",), "D2", None),  # D2 does not list D1 as an alternative id
        (("D1", "D2"), "D1", 1),  # both ids belong to one concept
        (("D1", "D4"), "D1", None),
    ],
)
def test_alternative_id_resolves_to_concept(tmp_path: Path, gold: tuple[str, ...], answer: str, strict: int | None) -> None:
    doc = Document("d", "one", (Mention(0, 3, "one", tuple(f"mesh:{each}" for each in gold)),))
    answers: tuple[Answer, ...] = (((f"mesh:{answer}",), 1.0, 0),)
    (case,) = gold_cases([doc], lambda _: answers, ConceptResolver(dictionary(tmp_path)))
    assert PROTOCOLS["strict"](case) == strict
    assert case.is_in_kb


def test_concepts_of_gold_id_are_not_a_tie(tmp_path: Path) -> None:
    doc = Document("d", "two", (Mention(0, 3, "two", ("mesh:D2",)),))
    answers: tuple[Answer, ...] = ((("mesh:D1",), 1.0, 0), (("mesh:D3",), 1.0, 0))
    (case,) = gold_cases([doc], lambda _: answers, ConceptResolver(dictionary(tmp_path)))
    assert PROTOCOLS["strict"](case) == 1


def test_repr_has_no_text() -> None:
    case = Case("d", frozenset({"a:1"}), ((),), mentions=(Mention(0, 5, "fever"),))
    assert "fever" not in repr(case)


def test_equal_scores_tie_by_score_but_not_by_name() -> None:
    doc = Document("d", "fever", (Mention(0, 5, "fever", ("x:b",)),))
    answers: tuple[Answer, ...] = ((("x:c",), 0.5, 2), (("x:b",), 1.0, 1), (("x:a",), 1.0, 0), (("x:d",), 1.0, 0))
    (case,) = gold_cases([doc], lambda _: answers)
    assert sets(case.rankings[0]) == [[{"x:b"}, {"x:a"}, {"x:d"}], [{"x:c"}]]
    assert sets(case.names[0]) == [[{"x:a"}, {"x:d"}], [{"x:b"}], [{"x:c"}]]
    assert PROTOCOLS["any-id"](case) == 2
    assert PROTOCOLS["strict"](case) == 3
    assert case.tie_size == 3


def test_decided_order_gives_each_answer_its_own_rank() -> None:
    doc = Document("d", "fever", (Mention(0, 5, "fever", ("x:b",)),))
    answers: tuple[Answer, ...] = ((("x:c",), 0.5, 2), (("x:b",), 1.0, 1), (("x:a",), 1.0, 0), (("x:d",), 1.0, 0))
    (decided,) = gold_cases([doc], lambda _: answers, is_decided=True)
    (undecided,) = gold_cases([doc], lambda _: answers)
    assert sets(decided.rankings[0]) == [[{"x:b"}], [{"x:a"}], [{"x:d"}], [{"x:c"}]]
    assert decided.scores == ((1.0, 1.0, 1.0, 0.5),)
    assert decided.names == undecided.names
    assert (PROTOCOLS["strict"](decided), PROTOCOLS["one-id"](decided)) == (1, 1)
    assert PROTOCOLS["any-id"](decided) == PROTOCOLS["any-id"](undecided) == 2
    assert decided.tie_size == undecided.tie_size == 3


def test_decided_order_drops_duplicate_concepts(tmp_path: Path) -> None:
    doc = Document("d", "fever", (Mention(0, 5, "fever", ("mesh:D4",)),))
    answers: tuple[Answer, ...] = ((("mesh:D1",), 1.0, 0), (("MESH:D1",), 1.0, 0), (("mesh:D4",), 1.0, 0))
    (case,) = gold_cases([doc], lambda _: answers, ConceptResolver(dictionary(tmp_path)), is_decided=True)
    assert len(case.rankings[0]) == 2
    assert PROTOCOLS["strict"](case) == 2
