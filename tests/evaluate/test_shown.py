"""From an evaluation to what a report shows."""

from __future__ import annotations

from dataclasses import replace

from onym.datasets import Prepared
from onym.evaluate.evaluation import evaluate
from onym.evaluate.report import html_report
from onym.evaluate.run import predict
from onym.evaluate.shown import content_of, linker_name
from onym.kb import KnowledgeBase
from onym.linkers.tfidf import TfidfLinker


def test_everything_is_there(benchmark: Prepared) -> None:
    assert benchmark.kb_folder
    kb = KnowledgeBase.open(benchmark.kb_folder)
    linker = TfidfLinker(kb)
    evaluation = evaluate(benchmark, "test", predict(benchmark, "test", linker), kb, similarity=linker.similarity)
    content = content_of(evaluation, kb)
    assert content.title == "tfidf on ncbi-disease-biosyn (test)"
    chosen = content.chosen
    assert chosen
    assert (chosen.protocol, chosen.cases, chosen.low) == ("strict", 2, evaluation.low)
    assert [row.low for row in content.headline if row.protocol != "strict"] == [None] * 3
    assert [point.k for point in content.recall_curve] == list(range(1, 11))
    assert sum(each.cases for each in content.bins) == 2
    assert len(content.mistakes) == sum(place != 1 for place in evaluation.places)
    assert dict(content.manifest)["benchmark.digest"] == benchmark.digest
    assert "tfidf" in html_report(content)


def test_examples_are_shown_where_scores_differ(benchmark: Prepared) -> None:
    assert benchmark.kb_folder
    kb = KnowledgeBase.open(benchmark.kb_folder)
    evaluation = evaluate(benchmark, "test", predict(benchmark, "test", TfidfLinker(kb)), kb)
    (case,) = (each for each in evaluation.cases if len(each.mentions) == 1)
    made = replace(case, rankings=(((frozenset({"a:1"}),), (case.gold,)),), scores=((0.9, 0.4),))
    (row,) = content_of(replace(evaluation, cases=(made,), places=(2,)), kb).examples
    assert (row.surface, row.place) == (case.mentions[0].surface, 2)
    assert [(near.score, near.is_gold) for near in row.neighbours] == [(0.9, False), (0.4, True)]
    alike = replace(made, scores=((1.0, 1.0),))
    assert content_of(replace(evaluation, cases=(alike,), places=(2,)), kb).examples == ()


def test_predictions_that_do_not_say_where_they_came_from() -> None:
    assert linker_name({}) == "unknown"
