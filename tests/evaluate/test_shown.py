"""From an evaluation to what a report shows."""

from __future__ import annotations

from onym.corpora.benchmarks import Prepared
from onym.evaluate.evaluation import evaluate
from onym.evaluate.report import html_report
from onym.evaluate.run import predict
from onym.evaluate.shown import content_of, linker_name
from onym.kb import KnowledgeBase
from onym.linkers.lexical import TfidfLinker


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


def test_predictions_that_do_not_say_where_they_came_from() -> None:
    assert linker_name({}) == "unknown"
