"""Tests of whole evaluations: predicting, scoring, saving and comparing."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.corpora.corpus import write_corpus
from onym.errors import ConfigError
from onym.evaluate.end_to_end import EndToEndEvaluation
from onym.evaluate.evaluation import Evaluation
from onym.evaluate.run import (
    predict,
    predict_end_to_end,
    report_tables,
    run_file,
    run_linker,
    run_pipeline,
    tune_pipeline,
    write_report,
)
from onym.evaluate.task import EvaluationTask
from onym.kb.ranking import ConceptMask, rank_scored
from onym.methods.base import Rank
from onym.methods.dictionary.detector import DictionaryDetector
from onym.methods.exact import ExactLinker
from onym.methods.tfidf import TfidfLinker
from onym.pipeline.pipeline import Pipeline


@pytest.fixture
def pipeline(abstracts: EvaluationTask) -> Pipeline:
    return Pipeline(ExactLinker(abstracts.kb), DictionaryDetector(abstracts.kb))


def test_mentions_are_linked_and_source_is_recorded(task: EvaluationTask) -> None:
    linker = ExactLinker(task.kb)
    predictions = predict(task, linker)
    mentions = [(doc.id, mention.start, mention.end) for doc in task.dataset.documents("test") for mention in doc.mentions]
    assert list(predictions.answers) == mentions
    assert predictions.source["dataset"] == task.source
    assert predictions.source["linker"] == linker.config


class Wrong(ExactLinker):
    """A linker that answers each mention with the concept of the first row, and leaves names to the pipeline."""

    decides_names = False

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        first = rank_scored(self.kb, {0: (0.5, int(self.kb.names_of(0)[0]))}, top_k)
        return lambda queries: [first] * len(queries)


def test_names_decide_unless_bare_and_never_under_the_protocols_of_papers(task: EvaluationTask) -> None:
    linker = Wrong(task.kb)
    named = predict(task, linker).answers
    bare = predict(task, linker, bare=True)
    first = task.kb.concept_ids[0]
    assert {answers[0][0] for answers in bare.answers.values()} == {(first,)}
    assert {answers[0][0] for answers in named.values()} != {(first,)}
    assert bare.source["bare"]
    assert "bare" not in predict(task, linker).source
    for protocol, is_bare in (("strict", False), ("one-id", False), ("any-id", True), ("biosyn", True)):
        assert run_linker(task, linker, protocol).manifest["predictions"].get("bare", False) == is_bare


def test_linker_and_its_saved_predictions_score_the_same(task: EvaluationTask, tmp_path: Path) -> None:
    evaluation = run_linker(task, TfidfLinker(task.kb), "any-id", save=tmp_path / "tfidf.jsonl")
    again = run_file(task, tmp_path / "tfidf.jsonl", "any-id")
    assert isinstance(again, Evaluation)
    assert (again.scores, again.slices) == (evaluation.scores, evaluation.slices)
    write_report(evaluation, task.kb, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert len(report_tables(evaluation, task.kb)) == 2


def test_pipeline_does_not_see_annotations(abstracts: EvaluationTask, pipeline: Pipeline) -> None:
    predictions = predict_end_to_end(abstracts, pipeline)
    assert list(predictions.answers) == [("4", 7, 12)]  # OMIM is not a name in the knowledge base
    assert predictions.source["dataset"] == abstracts.source
    assert predictions.source["detector"]["detector"] == "dictionary"


def test_pipeline_and_its_saved_predictions_score_the_same(
    abstracts: EvaluationTask, pipeline: Pipeline, tmp_path: Path
) -> None:
    evaluation = run_pipeline(abstracts, pipeline, save=tmp_path / "found.jsonl")
    strict = evaluation.results["bhowmik-strict"].scores
    assert (strict.precision, strict.recall) == (1.0, 0.5)
    again = run_file(abstracts, tmp_path / "found.jsonl", "bhowmik-strict")
    assert isinstance(again, EndToEndEvaluation)
    assert (again.results, again.system) == (evaluation.results, "dictionary + exact")
    write_report(evaluation, abstracts.kb, tmp_path / "page.html")
    assert "dictionary + exact on ncbi-disease (test)" in (tmp_path / "page.html").read_text()
    assert len(report_tables(evaluation, abstracts.kb)) == 4


def test_corpus_with_predicted_mentions(abstracts: EvaluationTask, tmp_path: Path) -> None:
    write_corpus(abstracts.dataset.documents("test"), tmp_path / "gold.jsonl", "jsonl")
    evaluation = run_file(abstracts, tmp_path / "gold.jsonl", "bhowmik-strict")
    assert isinstance(evaluation, EndToEndEvaluation)
    assert (evaluation.results["bhowmik-strict"].scores.f1, evaluation.system) == (1.0, "gold.jsonl")


def test_rejects_protocols_of_the_other_kind(task: EvaluationTask, abstracts: EvaluationTask, pipeline: Pipeline) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        run_linker(task, ExactLinker(task.kb), "bhowmik-strict")
    with pytest.raises(ConfigError, match="config-invalid"):
        run_pipeline(abstracts, pipeline, "strict")


def test_rejects_pipeline_without_detector_or_with_other_kb(
    task: EvaluationTask, abstracts: EvaluationTask, pipeline: Pipeline
) -> None:
    with pytest.raises(ConfigError, match="no detector"):
        run_pipeline(abstracts, Pipeline(pipeline.linker))
    with pytest.raises(ConfigError, match="kb-mismatch"):
        run_pipeline(task, pipeline)


def test_tuning_ignores_the_threshold_of_the_pipeline(abstracts: EvaluationTask, pipeline: Pipeline) -> None:
    tuned = tune_pipeline(abstracts, pipeline.with_threshold(99.0))
    assert tuned.threshold == 1.0  # the score of an exact match is 1
    assert tuned.f1 == tuned.f1_without == pytest.approx(2 / 3)
