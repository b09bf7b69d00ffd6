"""`onym evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import JSON, progress, shown_on, write_json, write_tables
from onym.cli.evaluation import ALLOW_PARTIAL, DATA, DATASET, KB, PROTOCOL, REPLACED, SPLIT
from onym.cli.linking import LINKER, PREFER, VERIFY
from onym.cli.options import DOWNLOAD
from onym.store.cache import Verify

if TYPE_CHECKING:
    from onym.evaluate.end_to_end import EndToEndEvaluation
    from onym.evaluate.evaluation import Evaluation


def command(
    context: typer.Context,
    dataset: Annotated[str, DATASET],
    predictions: Annotated[
        Path | None,
        typer.Argument(help="Predictions of onym link; for the end-to-end protocols also a corpus with predicted mentions."),
    ] = None,
    linker: Annotated[str, LINKER] = "",
    pipeline: Annotated[
        Path | None, typer.Option(help="Score this pipeline end to end: it finds and links mentions in the raw text.")
    ] = None,
    protocol: Annotated[str | None, PROTOCOL] = None,
    split: Annotated[str, SPLIT] = "test",
    kb: Annotated[Path | None, KB] = None,
    prefer: Annotated[str, PREFER] = "",
    data: Annotated[Path | None, DATA] = None,
    replaced: Annotated[Path | None, REPLACED] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report, .html.")] = None,
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
    from onym.cli.linking import listed
    from onym.cli.options import own_options
    from onym.errors import ConfigError
    from onym.evaluate import run
    from onym.evaluate.task import EvaluationTask
    from onym.linkers import linker_config, open_linker
    from onym.packs import load
    from onym.parts import OpenContext

    if sum(map(bool, (predictions, linker, pipeline))) != 1:
        what = "one of three can be scored: predictions, a linker or a pipeline"
        raise ConfigError("config-invalid", what, fix="give a file, or --linker, or --pipeline")
    if prefer and not linker:
        what = "the order of equal scores is chosen when mentions are linked"
        raise ConfigError("config-invalid", what, fix="give --prefer with --linker, to onym link or to onym pipeline build")
    evaluation: Evaluation | EndToEndEvaluation
    with progress("evaluating") as bar:
        opening = OpenContext(download, shown_on(bar), verify)
        loaded = load(pipeline, context=opening) if pipeline else None
        base = kb or (loaded.kb if loaded else None)
        task = EvaluationTask.open(dataset, split, kb=base, data=data, replaced=replaced, verify=verify, prefer=listed(prefer))
        if loaded:
            evaluation = run.run_pipeline(task, loaded, protocol or run.FOUND, save=save, force=force)
        elif predictions:
            evaluation = run.run_file(task, predictions, protocol or run.LINKING, allow_partial=allow_partial)
        else:
            config = linker_config(linker, **own_options(context.obj))
            named = open_linker(config, task.kb, opening)
            evaluation = run.run_linker(task, named, protocol or run.LINKING, save=save, force=force)
        if report:
            run.write_report(evaluation, task.kb, report, force=force)
    write_json(evaluation.as_dict()) if json else write_tables(run.report_tables(evaluation, task.kb))
