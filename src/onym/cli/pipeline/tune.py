"""`onym pipeline tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines
from onym.cli.evaluation import DATA, DATASET, SPLIT


def command(
    folder: Annotated[Path, typer.Argument(help="The folder of a pipeline.")],
    dataset: Annotated[str, DATASET],
    split: Annotated[str, SPLIT] = "dev",
    data: Annotated[Path | None, DATA] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find the score threshold with the best strict F1 on a development set. The pipeline is not changed.

    Example: onym pipeline tune mesh-pipeline --dataset bc5cdr
    """
    from dataclasses import asdict

    from onym.evaluate.run import tune_pipeline
    from onym.evaluate.task import EvaluationTask
    from onym.packs import load

    with progress("tuning"):
        pipeline = load(folder)
        task = EvaluationTask.open(dataset, split, kb=pipeline.kb, data=data)
        tuned = tune_pipeline(task, pipeline)
    if json:
        write_json({"dataset": task.source, **asdict(tuned)})
        return
    figures = (("strict F1", tuned.f1), ("strict F1 without a threshold", tuned.f1_without))
    write_lines([("threshold", str(tuned.threshold)), *((name, f"{100 * share:.1f}") for name, share in figures)])
