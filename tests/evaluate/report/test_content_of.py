"""Tests of building the content of a report from an evaluation."""

from __future__ import annotations

from dataclasses import replace

from onym.evaluate.content import content_of, linker_name
from onym.evaluate.evaluation import evaluate
from onym.evaluate.pages import linking_page
from onym.evaluate.run import predict
from onym.evaluate.task import EvaluationTask
from onym.methods.tfidf import TfidfLinker


def test_content_is_complete(task: EvaluationTask) -> None:
    linker = TfidfLinker(task.kb)
    evaluation = evaluate(task, predict(task, linker), similarity=linker.similarity)
    content = content_of(evaluation, task.kb)
    assert content.title == "tfidf on ncbi-disease-biosyn (test)"
    main = content.main
    assert main
    assert (main.protocol, main.cases, main.low) == ("strict", 2, evaluation.low)
    assert [row.low for row in content.headline if row.protocol != "strict"] == [None] * 3
    assert [point.k for point in content.recall_curve] == list(range(1, 11))
    assert len(content.mistakes) == sum(rank != 1 for rank in evaluation.gold_ranks)
    assert dict(content.manifest)["dataset.digest"] == task.dataset.digest
    assert "tfidf" in linking_page(content)


def test_examples_require_different_scores(task: EvaluationTask) -> None:
    kb = task.kb
    evaluation = evaluate(task, predict(task, TfidfLinker(kb)))
    (case,) = (each for each in evaluation.cases if len(each.mentions) == 1)
    made = replace(case, rankings=(((frozenset({"a:1"}),), (case.gold,)),), scores=((0.9, 0.4),))
    (row,) = content_of(replace(evaluation, cases=(made,), gold_ranks=(2,)), kb).examples
    assert (row.surface, row.gold_rank) == (case.mentions[0].surface, 2)
    assert [(near.score, near.is_gold) for near in row.neighbours] == [(0.9, False), (0.4, True)]
    alike = replace(made, scores=((1.0, 1.0),))
    assert content_of(replace(evaluation, cases=(alike,), gold_ranks=(2,)), kb).examples == ()


def test_predictions_without_source() -> None:
    assert linker_name({}) == "unknown"
