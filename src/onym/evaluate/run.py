"""Run a whole evaluation: score a linker, a pipeline or a file of predictions, and write the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from onym.corpora.base import Item
from onym.corpora.corpus import read_corpus
from onym.errors import ConfigError
from onym.evaluate.content import content_of
from onym.evaluate.coverage import mention_coverage
from onym.evaluate.end_to_end import (
    END_TO_END,
    EndToEndComparison,
    EndToEndEvaluation,
    compare_end_to_end,
    evaluate_end_to_end,
)
from onym.evaluate.evaluation import Comparison, Evaluation, compare, evaluate
from onym.evaluate.metrics import OF_PAPERS, PROTOCOLS
from onym.evaluate.pages import comparison_page, end_to_end_comparison_page, end_to_end_page, linking_page
from onym.evaluate.tables import end_to_end_tables, linking_tables
from onym.evaluate.task import EvaluationTask
from onym.evaluate.tuning import TunedThreshold, tune_threshold
from onym.evaluate.types import ANNOTATED_TYPES, types_of_pipeline, types_of_predictions
from onym.kb import KnowledgeBase
from onym.methods.base import Linker
from onym.outputs.predictions import Predictions, are_predictions, predictions_of, read_predictions, write_predictions
from onym.pipeline import Pipeline, PipelineOptions
from onym.store.output import whole_file

if TYPE_CHECKING:
    from rich.table import Table

TOP_K = 10
"""The number of candidates requested per mention."""
LINKING, FOUND = "strict", "bhowmik-strict"
"""The default protocols: for annotated mentions, and end to end."""
Predicted = Predictions | list[Item]
"""The output of a system: predictions, or the items of a corpus with predicted mentions."""


class ComparedLinkers(NamedTuple):
    """A comparison of two linkers on annotated mentions, with both evaluations."""

    comparison: Comparison
    evaluations: tuple[Evaluation, Evaluation]


class ComparedPipelines(NamedTuple):
    """A comparison of two end-to-end systems, with both evaluations."""

    comparison: EndToEndComparison
    evaluations: tuple[EndToEndEvaluation, EndToEndEvaluation]


def run_linker(
    task: EvaluationTask,
    linker: Linker,
    protocol: str = LINKING,
    *,
    bare: bool = False,
    save: Path | None = None,
    force: bool = False,
) -> Evaluation:
    """Link the annotated mentions of a split and score the answers; write the predictions to `save` if given.

    The linker is run in a pipeline, as users run it. With `bare`, and under the protocols of papers, it ranks as the papers do:
    names do not decide, and typographic characters stay as they are.
    """
    if protocol in END_TO_END:
        what = f"{protocol} is an end-to-end protocol, but a linker is given the annotated mentions"
        raise ConfigError("config-invalid", what, fix="evaluate a pipeline, or a corpus with predicted mentions")
    predictions = predict(task, linker, bare=bare or protocol in OF_PAPERS)
    if save:
        save_predictions(predictions, save, force=force)
    # reuse the linker's TF-IDF index, if the linker has an index
    return evaluate(task, predictions, protocol=protocol, similarity=getattr(linker, "similarity", None) or task.similarity)


def run_pipeline(
    task: EvaluationTask,
    pipeline: Pipeline,
    protocol: str = FOUND,
    *,
    trained: Sequence[str] = (),
    save: Path | None = None,
    force: bool = False,
) -> EndToEndEvaluation:
    """Run a pipeline on the raw texts of a split and score its mentions; write the predictions to `save` if given.

    If the task does not restrict the types, the types that the pipeline links are scored. `trained` are the types that the
    pipeline was trained on.
    """
    if protocol in PROTOCOLS:
        what = f"{protocol} is a protocol for annotated mentions, but a pipeline detects the mentions itself"
        raise ConfigError("config-invalid", what, fix=f"use an end-to-end protocol: {', '.join(END_TO_END)}")
    if not task.types:
        task = task.with_types(types_of_pipeline(task, pipeline, trained))
    predictions = predict_end_to_end(task, pipeline)
    if save:
        save_predictions(predictions, save, force=force)
    return evaluate_end_to_end(task, predictions, protocol=protocol)


def run_file(
    task: EvaluationTask, path: Path, protocol: str | None = None, *, allow_partial: bool = False
) -> Evaluation | EndToEndEvaluation:
    """Score a file of predictions, or a corpus with predicted mentions; `protocol` defaults to `choose_protocol`.

    If the task does not restrict the types, the types recorded in the predictions are scored.
    """
    predicted = read_predicted(path, protocol, allow_partial=allow_partial)
    task = task if task.types else task.with_types(types_of_predictions(predicted))
    return score_predicted(
        task, predicted, protocol or choose_protocol(task, predicted), system=path.name, allow_partial=allow_partial
    )


def run_comparison(
    task: EvaluationTask,
    paths: tuple[Path, Path],
    protocol: str | None = None,
    *,
    allow_partial: bool = False,
    with_t_test: bool = False,
) -> ComparedLinkers | ComparedPipelines:
    """Score two files and compare them: by F1 for end-to-end systems, otherwise by recall@1."""
    both = [read_predicted(path, protocol, allow_partial=allow_partial) for path in paths]
    task = task if task.types else task.with_types(types_of_predictions(*both))
    protocol = protocol or choose_protocol(task, *both)
    scored = [
        score_predicted(task, predicted, protocol, system=path.name, allow_partial=allow_partial)
        for path, predicted in zip(paths, both, strict=True)
    ]
    match scored:
        case [Evaluation() as one, Evaluation() as other]:
            return ComparedLinkers(compare(one, other, with_t_test=with_t_test), (one, other))
        case [EndToEndEvaluation() as one, EndToEndEvaluation() as other] if not with_t_test:
            return ComparedPipelines(compare_end_to_end(one, other), (one, other))
    what = f"ANGEL's t-test needs a protocol for annotated mentions, and {protocol} is end to end"
    raise ConfigError("config-invalid", what, fix="drop --angel-t-test")


def read_predicted(path: Path, protocol: str | None = None, *, allow_partial: bool = False) -> Predicted:
    """Read a file of predictions, or a corpus with predicted mentions if the protocol is end-to-end or not given."""
    if protocol and protocol not in (*PROTOCOLS, *END_TO_END):
        fix = f"use one of {', '.join((*PROTOCOLS, *END_TO_END))}"
        raise ConfigError("protocol-unknown", f"unknown protocol {protocol!r}", fix=fix)
    if protocol in PROTOCOLS or not path.exists() or (path.is_file() and are_predictions(path)):
        return read_predictions(path)
    reading = read_corpus(path)
    found = list(reading)
    if not allow_partial:
        reading.require_whole()
    return found


def choose_protocol(task: EvaluationTask, *predicted: Predicted) -> str:
    """Return the default protocol: end-to-end if any of the systems detected mentions itself, else for annotated mentions."""
    return FOUND if any(has_found_mentions(task, each) for each in predicted) else LINKING


def has_found_mentions(task: EvaluationTask, predicted: Predicted) -> bool:
    """Return True if the system detected its mentions: it has a detector, and its mentions are not the annotated mentions."""
    if not isinstance(predicted, Predictions):
        return True
    detector = predicted.source.get("detector")
    if not isinstance(detector, dict) or detector.get("detector") == "none":
        return False
    coverage = mention_coverage(task.dataset.documents(task.split), predicted)
    return coverage.missing > 0 or coverage.not_in_gold > 0


def score_predicted(
    task: EvaluationTask, predicted: Predicted, protocol: str, *, system: str = "", allow_partial: bool = False
) -> Evaluation | EndToEndEvaluation:
    """Score predictions under a protocol; `system` names the system that predicted a corpus, which does not record it."""
    if protocol in END_TO_END or not isinstance(predicted, Predictions):
        name = "" if isinstance(predicted, Predictions) else system
        return evaluate_end_to_end(task, predicted, protocol=protocol, system=name, allow_partial=allow_partial)
    return evaluate(task, predicted, protocol=protocol, similarity=task.similarity, allow_partial=allow_partial)


def tune_pipeline(task: EvaluationTask, pipeline: Pipeline) -> TunedThreshold:
    """Run a pipeline without its threshold on a development set, and return the best threshold for it."""
    if not task.types:
        task = task.with_types(types_of_pipeline(task, pipeline))
    predictions = predict_end_to_end(task, pipeline.with_threshold(None))
    return tune_threshold(task.gold(), predictions, task.resolver.canonical)


def predict(task: EvaluationTask, linker: Linker, *, top_k: int = TOP_K, bare: bool = False) -> Predictions:
    """Link the annotated mentions of a split; `bare` is explained at `run_linker`."""
    options = PipelineOptions(top_k=top_k, assertion=False)
    pipeline = Pipeline(linker, options=options, bare=bare)
    linked = pipeline.link_many(task.dataset.documents(task.split))
    return Predictions.of(predictions_of(linked), {**pipeline.source(), "dataset": task.source})


def predict_end_to_end(task: EvaluationTask, pipeline: Pipeline) -> Predictions:
    """Run a pipeline on the texts of a split, without their annotations."""
    task.require_same_kb(pipeline.source())
    if pipeline.detector is None:
        what = "the pipeline has no detector, so it cannot find mentions in raw text"
        raise ConfigError("config-invalid", what, fix="build the pipeline with a detector, or score its linker with --linker")
    linked = pipeline.with_assertion(False).link_many(task.texts())
    types = {ANNOTATED_TYPES: list(task.types)} if task.types else {}
    return Predictions.of(predictions_of(linked), {**pipeline.source(), "dataset": task.source, **types})


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
    compared: ComparedLinkers | ComparedPipelines,
    names: tuple[str, str],
    kb: KnowledgeBase,
    path: Path,
    *,
    force: bool = False,
) -> None:
    """Write the HTML report of a comparison; `names` are the display names of the systems."""
    if isinstance(compared, ComparedLinkers):
        page = comparison_page(*compared, names, kb)
    else:
        page = end_to_end_comparison_page(*compared, names)
    with whole_file(path, force=force) as file:
        file.write(page.encode())


def report_tables(evaluation: Evaluation | EndToEndEvaluation, kb: KnowledgeBase) -> list[Table]:
    """Return the tables of an evaluation for the terminal."""
    if isinstance(evaluation, EndToEndEvaluation):
        return end_to_end_tables(evaluation)
    return linking_tables(content_of(evaluation, kb))
