"""Tests of the ties benchmark: counts per rule, and the order of stored predictions."""

from __future__ import annotations

import pytest
from benchmarks.accuracy.ties_decided import decide_by_ids, forget_order, rules_of
from benchmarks.bare import bare_pipeline

from onym.evaluate.cases import gold_cases
from onym.kb import KnowledgeBase
from onym.methods.exact import ExactLinker
from onym.outputs.predictions import Prediction, Predictions, predictions_of
from onym.types import Document, Mention
from tests.kb.test_order import HP, MESH, MONDO, make_kb

TEXT = "cancer outgrowth tumour lump"


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return make_kb(tmp_path_factory.mktemp("ties"), MESH, MONDO, HP)


def document(*gold: str) -> Document:
    words = TEXT.split()
    rows = [(TEXT.index(word), word, each) for word, each in zip(words, gold, strict=True)]
    return Document("1", TEXT, tuple(Mention(start, start + len(word), word, (each,)) for start, word, each in rows))


def test_counts_ties_and_right_answers_per_rule(kb: KnowledgeBase) -> None:
    doc = document("mesh:D1", "mesh:D1", "mondo:2", "mesh:D3")
    linked = list(bare_pipeline(ExactLinker(kb)).link_many([doc]))
    answers = Predictions.of(predictions_of(linked), {}).answers
    cases = gold_cases([doc], lambda key: answers[key], is_decided=True)
    figures = rules_of(linked, cases, kb).figures()
    # The first answer to each tie, and the rule that decides it: cancer: mesh:D1 (record: it is not supplementary); outgrowth:
    # mesh:C2 and tumour: mondo:2 (preferred-name: it is theirs). lump has no tie.
    assert {rule: each["ties"] for rule, each in figures.items() if each["ties"]} == {"record": 1, "preferred-name": 2}
    assert (figures["record"]["accuracy_pct"], figures["preferred-name"]["accuracy_pct"]) == (100.0, 50.0)
    assert figures["preferred-name"]["possible_pct"] == 100.0
    assert figures["record"]["share_pct"] == 33.3


def test_orders_stored_predictions_by_ids(kb: KnowledgeBase) -> None:
    kept = {"hp:1": 1.0, "mesh:C1": 1.0, "x:1": 1.0, "mesh:D1": 1.0, "mesh:D2": 2.0}
    answers = tuple(((each,), score, 0) for each, score in kept.items())
    decided = decide_by_ids(Predictions.of([Prediction("1", 0, 6, answers)], {"top_k": 10}), kb)
    (one,) = decided
    assert [ids[0] for ids, _, _ in one.answers] == ["mesh:D2", "mesh:D1", "mesh:C1", "hp:1", "x:1"]
    assert decided.is_decided
    assert decided.source["top_k"] == 10


def test_forget_order_removes_order_metadata(kb: KnowledgeBase) -> None:
    made_now = Predictions.of([], bare_pipeline(ExactLinker(kb)).source())
    assert made_now.is_decided
    assert not forget_order(made_now).is_decided
    assert forget_order(made_now).source == {key: value for key, value in made_now.source.items() if key != "order"}
