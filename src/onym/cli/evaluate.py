"""`onym evaluate`, `onym compare` and `onym calibrate`: score linkers and pipelines on datasets, and calibrate confidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from onym.cli.console import JSON, progress, progress_callback, stderr, tell, write_json, write_lines, write_tables
from onym.cli.inputs import resolve_kb
from onym.cli.options import (
    DATA,
    DATASET,
    DOWNLOAD,
    LINKER,
    LINKER_OPTIONS,
    OF_CONFIG,
    PREFER_INSTEAD,
    SOME_PIPELINE_OPTIONS,
    SPLIT,
    VERIFY,
    command_with,
    split_commas,
)
from onym.store.cache import Verify

if TYPE_CHECKING:
    from onym.evaluate.end_to_end import EndToEndEvaluation
    from onym.evaluate.evaluation import Evaluation
    from onym.pipeline.config import FittedCalibration

app = typer.Typer()
KB = typer.Option(
    "--kb",
    callback=resolve_kb,
    help="Knowledge base; by default the one of the pipeline, or else the dataset's own dictionary.",
)
PROTOCOL = typer.Option(
    help="Evaluation protocol. With annotated mentions: strict, one-id, any-id or biosyn; end to end: bhowmik-strict, "
    "bhowmik-partial, neleval-overlap-maxmax or document. By default strict, or bhowmik-strict end to end."
)
ALLOW_PARTIAL = typer.Option(
    "--allow-partial", help="Allow missing or repeated mentions or documents in predictions; missing mentions count as wrong."
)
REPLACED = typer.Option(help="Table of retired ids, used for scoring only. Two columns: old id, new id.")
TYPE = typer.Option(
    "--type",
    help="Score only annotated mentions of this type. May be repeated. By default the types that the pipeline links, or all "
    "types for a linker.",
)
REPORT = typer.Option(help="Write an HTML report to this file.")
_PRECISIONS = (0.9, 0.95, 0.98)


@app.command(cls=command_with(config=SOME_PIPELINE_OPTIONS, linker=LINKER_OPTIONS))
def evaluate(
    context: typer.Context,
    dataset: Annotated[str, DATASET],
    predictions: Annotated[
        Path | None,
        typer.Argument(
            help="Predictions written by onym link, or, for end-to-end protocols, a corpus with predicted mentions."
        ),
    ] = None,
    linker: Annotated[str, LINKER] = "",
    pipeline: Annotated[
        Path | None, typer.Option(help="Score this pipeline end to end: detect and link mentions in raw text.")
    ] = None,
    protocol: Annotated[str | None, PROTOCOL] = None,
    bare: Annotated[
        bool,
        typer.Option(
            "--bare",
            help="With --linker: rank as the papers do. Names do not decide, and typographic characters stay as they are. "
            "Always so under the protocols any-id and biosyn.",
        ),
    ] = False,
    split: Annotated[str, SPLIT] = "test",
    type: Annotated[list[str] | None, TYPE] = None,  # noqa: A002 - the name of the option
    kb: Annotated[Path | None, KB] = None,
    prefer: Annotated[str, OF_CONFIG] = "",
    data: Annotated[Path | None, DATA] = None,
    replaced: Annotated[Path | None, REPLACED] = None,
    report: Annotated[Path | None, REPORT] = None,
    save: Annotated[Path | None, typer.Option(help="Save the predictions of the linker or pipeline to this file.")] = None,
    allow_partial: Annotated[bool, ALLOW_PARTIAL] = False,
    download: Annotated[bool, DOWNLOAD] = False,
    verify: Annotated[Verify, VERIFY] = "once",
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Score predictions, a linker, or a whole pipeline on a dataset.

    Example: onym evaluate --linker tfidf --dataset ncbi-disease-biosyn --protocol biosyn --report tfidf.html
    """
    from onym.store.output import require_file

    for path in filter(None, (report, save)):
        require_file(path, force=force)
    from onym.errors import ConfigError
    from onym.evaluate import run
    from onym.evaluate.task import EvaluationTask
    from onym.evaluate.types import is_trained_on, read_trained_types
    from onym.methods import linker_config, open_linker
    from onym.packs import load
    from onym.packs.locate import locate
    from onym.parts import OpenContext

    if sum(map(bool, (predictions, linker, pipeline))) != 1:
        what = "exactly one of these is required: a predictions file, --linker or --pipeline"
        raise ConfigError("config-invalid", what, fix="drop all but one, or add one, such as --linker exact")
    if prefer and predictions:
        what = "--prefer has no effect on a predictions file, where ties are already resolved"
        raise ConfigError("config-invalid", what, fix="give --prefer with --linker or --pipeline, or to onym link")
    evaluation: Evaluation | EndToEndEvaluation
    with progress("evaluating") as bar:
        opening = OpenContext(download, progress_callback(bar), verify)
        loaded = load(pipeline, context=opening, prefer=split_commas(prefer)) if pipeline else None
        base = kb or (loaded.kb if loaded else None)
        task = EvaluationTask.open(
            dataset, split, kb=base, data=data, replaced=replaced, verify=verify, prefer=split_commas(prefer)
        )
        task = task.with_types(type or ())
        if loaded and pipeline:
            trained = read_trained_types(folder := locate(pipeline))
            if split == "train" and is_trained_on(folder, dataset):
                tell("The pipeline was trained on these documents: the figures say nothing about new ones. Take dev or test.")
            evaluation = run.run_pipeline(task, loaded, protocol or run.FOUND, trained=trained, save=save, force=force)
        elif predictions:
            evaluation = run.run_file(task, predictions, protocol, allow_partial=allow_partial)
        else:
            config = linker_config(linker, **context.obj["linker"])
            named = open_linker(config, task.kb, opening)
            evaluation = run.run_linker(task, named, protocol or run.LINKING, bare=bare, save=save, force=force)
        if report:
            run.write_report(evaluation, task.kb, report, force=force)
    write_json(evaluation.as_dict()) if json else write_tables(run.report_tables(evaluation, task.kb))


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="Predictions of the first system, or a corpus with its predicted mentions.")],
    second: Annotated[Path, typer.Argument(help="Predictions of the second system, or a corpus with its predicted mentions.")],
    dataset: Annotated[str, DATASET],
    protocol: Annotated[str | None, PROTOCOL] = None,
    split: Annotated[str, SPLIT] = "test",
    type: Annotated[list[str] | None, TYPE] = None,  # noqa: A002 - the name of the option
    kb: Annotated[Path | None, KB] = None,
    data: Annotated[Path | None, DATA] = None,
    replaced: Annotated[Path | None, REPLACED] = None,
    allow_partial: Annotated[bool, ALLOW_PARTIAL] = False,
    report: Annotated[Path | None, REPORT] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing report.")] = False,
    angel_t_test: Annotated[
        bool,
        typer.Option(
            "--angel-t-test",
            help="Also report ANGEL's t-test over bootstrap replicates, which is statistically invalid; for comparison only.",
        ),
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Compare two systems: both scores, their difference with its 95 % confidence interval, and significance tests.

    End-to-end systems are compared by F1, linkers of annotated mentions by recall@1.

    Example: onym compare exact.jsonl tfidf.jsonl --dataset ncbi-disease-biosyn --report comparison.html
    """
    from onym.store.output import require_file

    if report:
        require_file(report, force=force)
    from onym.evaluate.evaluation import Comparison
    from onym.evaluate.published import find_published_for
    from onym.evaluate.run import run_comparison, write_comparison
    from onym.evaluate.tables import comparison_tables, tabulate_published
    from onym.evaluate.task import EvaluationTask

    names = (first.name, second.name)
    with progress("comparing"):
        task = EvaluationTask.open(dataset, split, kb=kb, data=data, replaced=replaced).with_types(type or ())
        compared = run_comparison(task, (first, second), protocol, allow_partial=allow_partial, with_t_test=angel_t_test)
        if report:
            write_comparison(compared, names, task.kb, report, force=force)
    comparison, (one, _) = compared
    if isinstance(comparison, Comparison) and comparison.t_test:
        stderr().print(comparison.t_test.warning, style="yellow")
    if json:
        write_json(comparison.as_dict())
        return
    write_tables(
        [*comparison_tables(comparison, *names), *tabulate_published(find_published_for(one.manifest, comparison.protocol))]
    )


@app.command()
def calibrate(
    folder: Annotated[Path, typer.Argument(help="Folder of a pipeline.")],
    dataset: Annotated[
        list[str],
        typer.Option(
            "--dataset", "-d", help="Name of a dataset, or folder of a prepared one. May be repeated to use several datasets."
        ),
    ],
    split: Annotated[str, SPLIT] = "dev",
    data: Annotated[Path | None, DATA] = None,
    mentions: Annotated[
        Literal["given", "found", "terms"] | None,
        typer.Option(
            help="found: mentions that the pipeline detects in raw text; given: annotated mentions in their documents; terms: "
            "distinct annotated mentions without context, for onym map and OpenRefine. "
            "By default found if the pipeline has a detector, else given."
        ),
    ] = None,
    type: Annotated[  # noqa: A002 - the name of the option
        list[str] | None,
        typer.Option(help="With --mentions terms or given: use only annotated mentions of this type. May be repeated."),
    ] = None,
    by_type: Annotated[
        bool, typer.Option("--by-type", help="Also calibrate each frequent type of mentions by itself, such as genes.")
    ] = False,
    prefer: Annotated[str, PREFER_INSTEAD] = "",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Calibrate the confidence of a pipeline on annotated documents it was not trained on, and store it in the pipeline.

    With several datasets, a shared document is used once, and a document in the test split of any dataset is left out.
    Give the vocabulary of the annotations as --prefer if the knowledge base has several: otherwise right answers of another
    vocabulary count as wrong. The calibrated pipeline keeps its own order.

    Example: onym calibrate mesh-pipeline --dataset bc5cdr
    Example: onym calibrate mesh-pipeline --dataset bc5cdr --dataset ncbi-disease
    """
    from onym.evaluate.task import EvaluationTask
    from onym.evaluate.tuning import calibrate_pipeline
    from onym.packs import load
    from onym.pipeline.folder import store_calibration
    from onym.store.output import require_file

    require_file(folder / "pipeline.json", force=True)
    with progress("calibrating"):
        pipeline = load(folder, prefer=split_commas(prefer))
        tasks = [EvaluationTask.open(name, split, kb=pipeline.kb, data=data) for name in dataset]
        fitted = calibrate_pipeline(tasks, pipeline, mentions, type or (), by_type=by_type)
        store_calibration(folder, fitted)
    figures = _figures(fitted)
    if json:
        write_json({"datasets": [task.source for task in tasks], **figures})
    else:
        write_lines([(name.replace("_", " "), str(value)) for name, value in figures.items()])


def _figures(fitted: FittedCalibration) -> dict[str, object]:
    """Return the calibration quality on held-out documents, and the coverage at some target precisions."""
    made, quality = fitted.calibration, fitted.calibration.quality
    reached = {precision: made.curve.at(precision) for precision in _PRECISIONS}
    shares = {
        f"answered_at_{precision}": round(each.coverage, 3) if each.is_reached else f"not reached; best is {each.precision:.3f}"
        for precision, each in reached.items()
    }
    if fitted.gold:
        shares["best_f1_at_precision"] = round(made.curve.best_f1(quality.answers, fitted.gold).precision, 3)
    return {
        "mentions": fitted.mentions,
        **({"types": list(fitted.types)} if fitted.types else {}),
        **{f"ece_of_{kind}": round(each.quality.ece, 4) for kind, each in fitted.by_type.items()},
        "documents": fitted.documents,
        "left_out": fitted.left_out,
        "answers": quality.answers,
        "right": round(quality.accuracy, 4),
        "by": "score" if "ByScore" in type(made.way).__name__ else "evidence",
        "ece": round(quality.ece, 4),
        "auroc": None if quality.auroc is None else round(quality.auroc, 4),
        **shares,
    }
