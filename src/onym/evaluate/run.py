"""Run an evaluation from start to end: a linker, a pipeline or a file of predictions in, figures and a report out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onym.corpora.corpus import read_corpus
from onym.errors import ConfigError
from onym.evaluate.content import content_of
from onym.evaluate.end_to_end import END_TO_END, EndToEndEvaluation, evaluate_end_to_end
from onym.evaluate.evaluation import Comparison, Evaluation, evaluate
from onym.evaluate.metrics import PROTOCOLS
from onym.evaluate.pages import comparison_page, end_to_end_page, linking_page
from onym.evaluate.tables import end_to_end_tables, linking_tables
from onym.evaluate.task import EvaluationTask
from onym.evaluate.tuning import TunedThreshold, tune_threshold
from onym.kb import KnowledgeBase
from onym.linkers.base import Linker, source_of
from onym.outputs.predictions import Predictions, are_predictions, predictions_of, read_predictions, write_predictions
from onym.pipeline.pipeline import Pipeline
from onym.store.output import whole_file

if TYPE_CHECKING:
    from rich.table import Table

TOP_K = 10
LINKING, FOUND = "strict", "bhowmik-strict"
"""The default protocols, of annotated mentions and of mentions that a system finds itself."""


def run_linker(
    task: EvaluationTask, linker: Linker, protocol: str = LINKING, *, save: Path | None = None, force: bool = False
) -> Evaluation:
    """Link the annotated mentions of a split, and score the answers; `save` is a file for the predictions."""
    if protocol in END_TO_END:
        what = "an end-to-end protocol scores mentions that a system finds itself; a linker gets the annotated ones"
        raise ConfigError("config-invalid", what, fix="give a pipeline, or a corpus with predicted mentions")
    predictions = predict(task, linker)
    if save:
        save_predictions(predictions, save, force=force)
    # A TF-IDF linker has the similarity of all names already.
    return evaluate(task, predictions, protocol=protocol, similarity=getattr(linker, "similarity", None) or task.similarity)


def run_pipeline(
    task: EvaluationTask, pipeline: Pipeline, protocol: str = FOUND, *, save: Path | None = None, force: bool = False
) -> EndToEndEvaluation:
    """Find and link mentions in the bare texts of a split, and score them; `save` is a file for the predictions."""
    if protocol in PROTOCOLS:
        what = f"{protocol} scores annotated mentions, and a pipeline finds the mentions itself"
        raise ConfigError("config-invalid", what, fix=f"the end-to-end protocols are {', '.join(END_TO_END)}")
    predictions = predict_end_to_end(task, pipeline)
    if save:
        save_predictions(predictions, save, force=force)
    return evaluate_end_to_end(task, predictions, protocol=protocol)


def run_file(
    task: EvaluationTask, path: Path, protocol: str = LINKING, *, allow_partial: bool = False
) -> Evaluation | EndToEndEvaluation:
    """Score a file of predictions; with an end-to-end protocol, it may be a corpus with predicted mentions too."""
    if protocol not in END_TO_END:
        return evaluate_predictions(task, path, protocol, allow_partial=allow_partial)
    if path.is_file() and are_predictions(path):
        return evaluate_end_to_end(task, read_predictions(path), protocol=protocol, allow_partial=allow_partial)
    reading = read_corpus(path)
    found = list(reading)
    if not allow_partial:
        reading.require_whole()
    return evaluate_end_to_end(task, found, protocol=protocol, system=path.name, allow_partial=allow_partial)


def evaluate_predictions(
    task: EvaluationTask, path: Path, protocol: str = LINKING, *, allow_partial: bool = False
) -> Evaluation:
    """Score a file of predictions for annotated mentions."""
    predictions = read_predictions(path)
    return evaluate(task, predictions, protocol=protocol, similarity=task.similarity, allow_partial=allow_partial)


def tune_pipeline(task: EvaluationTask, pipeline: Pipeline) -> TunedThreshold:
    """Run a pipeline without its threshold on a development set, and return the best threshold."""
    predictions = predict_end_to_end(task, pipeline.with_threshold(None))
    return tune_threshold(list(task.dataset.documents(task.split)), predictions, task.resolver.canonical)


def predict(task: EvaluationTask, linker: Linker, *, top_k: int = TOP_K) -> Predictions:
    """Link the annotated mentions of a split."""
    linked = linker.link(task.dataset.documents(task.split), top_k=top_k)
    return Predictions.of(predictions_of(linked), source_of(linker, top_k, dataset=task.source))


def predict_end_to_end(task: EvaluationTask, pipeline: Pipeline) -> Predictions:
    """Find and link mentions in the texts of a split; the pipeline does not see the annotations."""
    task.require_same_kb(pipeline.source())
    if pipeline.detector is None:
        what = "the pipeline has no detector, so it finds no mentions in raw text"
        raise ConfigError("config-invalid", what, fix="build it with a detector, or score its linker with --linker")
    linked = pipeline.link_many(task.texts())
    return Predictions.of(predictions_of(linked), {**pipeline.source(), "dataset": task.source})


def save_predictions(predictions: Predictions, path: Path, *, force: bool = False) -> None:
    """Write predictions to a file."""
    with whole_file(path, force=force) as file:
        write_predictions(predictions.lines, predictions.source, file)


def write_report(evaluation: Evaluation | EndToEndEvaluation, kb: KnowledgeBase, path: Path, *, force: bool = False) -> None:
    """Write the HTML report of an evaluation."""
    if isinstance(evaluation, EndToEndEvaluation):
        page = end_to_end_page(evaluation)
    else:
        page = linking_page(content_of(evaluation, kb))
    with whole_file(path, force=force) as file:
        file.write(page.encode())


def write_comparison(
    comparison: Comparison,
    evaluations: tuple[Evaluation, Evaluation],
    names: tuple[str, str],
    kb: KnowledgeBase,
    path: Path,
    *,
    force: bool = False,
) -> None:
    """Write the HTML report of a comparison of two evaluations; `names` are what the systems are called."""
    with whole_file(path, force=force) as file:
        file.write(comparison_page(comparison, evaluations, names, kb).encode())


def report_tables(evaluation: Evaluation | EndToEndEvaluation, kb: KnowledgeBase) -> list[Table]:
    """Return the tables of an evaluation, for the terminal."""
    if isinstance(evaluation, EndToEndEvaluation):
        return end_to_end_tables(evaluation)
    return linking_tables(content_of(evaluation, kb))
