"""`onym compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, stderr, write_json, write_tables
from onym.cli.evaluation import ALLOW_PARTIAL, DATA, DATASET, KB, PROTOCOL, REPLACED, SPLIT


def command(
    first: Annotated[Path, typer.Argument(help="Predictions of one system.")],
    second: Annotated[Path, typer.Argument(help="Predictions of another.")],
    dataset: Annotated[str, DATASET],
    protocol: Annotated[str, PROTOCOL] = "strict",
    split: Annotated[str, SPLIT] = "test",
    kb: Annotated[Path | None, KB] = None,
    data: Annotated[Path | None, DATA] = None,
    replaced: Annotated[Path | None, REPLACED] = None,
    allow_partial: Annotated[bool, ALLOW_PARTIAL] = False,
    report: Annotated[Path | None, typer.Option(help="Write a report, .html.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing report.")] = False,
    angel_t_test: Annotated[
        bool,
        typer.Option(
            "--angel-t-test",
            help="Also ANGEL's t-test over bootstrap replicates: as published; statistically invalid, for comparison only.",
        ),
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Compare two systems on the same mentions: the difference, its 95 % confidence interval, and significance tests.

    Example: onym compare exact.jsonl tfidf.jsonl --dataset ncbi-disease-biosyn --report comparison.html
    """
    from onym.store.output import require_file

    if report:
        require_file(report, force=force)
    from onym.evaluate.evaluation import compare
    from onym.evaluate.published import published_for
    from onym.evaluate.run import evaluate_predictions, write_comparison
    from onym.evaluate.tables import comparison_tables, published_tables
    from onym.evaluate.task import EvaluationTask

    names = (first.name, second.name)
    with progress("comparing"):
        task = EvaluationTask.open(dataset, split, kb=kb, data=data, replaced=replaced)
        files = (first, second)
        one, other = (evaluate_predictions(task, path, protocol, allow_partial=allow_partial) for path in files)
        comparison = compare(one, other, with_t_test=angel_t_test)
        if report:
            write_comparison(comparison, (one, other), names, task.kb, report, force=force)
    if comparison.t_test:
        stderr().print(comparison.t_test.warning, style="yellow")
    if json:
        write_json(comparison.as_dict())
        return
    write_tables([*comparison_tables(comparison, *names), *published_tables(published_for(one.manifest, protocol))])
