"""`onym calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from onym.cli.console import JSON, progress, write_json, write_lines
from onym.cli.evaluation import DATA, SPLIT

if TYPE_CHECKING:
    from onym.pipeline.config import FittedCalibration

_PRECISIONS = (0.9, 0.95, 0.98)


def command(
    folder: Annotated[Path, typer.Argument(help="The folder of a pipeline.")],
    dataset: Annotated[
        list[str],
        typer.Option(
            "--dataset", "-d", help="The name of a dataset, or the folder of a prepared one. Several are pooled: give it again."
        ),
    ],
    split: Annotated[str, SPLIT] = "dev",
    data: Annotated[Path | None, DATA] = None,
    mentions: Annotated[
        Literal["given", "found", "terms"] | None,
        typer.Option(
            help="found: mentions that the pipeline detects in raw text; given: annotated mentions; terms: annotated mentions "
            "without their texts, each once, for onym map and OpenRefine. "
            "By default found, if it has a detector."
        ),
    ] = None,
    type: Annotated[  # noqa: A002 - the name of the option
        list[str] | None,
        typer.Option(help="Annotated mentions of this type alone, for terms or given mentions. Several: give it again."),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Calibrate the confidence of a pipeline on annotated documents that it was not trained on, and store it in the pipeline.

    Of several datasets, a document that two of them share counts once, and one that another has in its test split is left out.

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
        pipeline = load(folder)
        tasks = [EvaluationTask.open(name, split, kb=pipeline.kb, data=data) for name in dataset]
        fitted = calibrate_pipeline(tasks, pipeline, mentions, type or ())
        store_calibration(folder, fitted)
    figures = _figures(fitted)
    if json:
        write_json({"datasets": [task.source for task in tasks], **figures})
    else:
        write_lines([(name.replace("_", " "), str(value)) for name, value in figures.items()])


def _figures(fitted: FittedCalibration) -> dict[str, object]:
    """Return how good the confidences of held-out documents were, and what can be asked for."""
    made, quality = fitted.calibration, fitted.calibration.quality
    reached = {precision: made.curve.at(precision) for precision in _PRECISIONS}
    shares = {
        f"answered_at_{precision}": round(each.coverage, 3) if each.is_reached else f"not reached; {each.precision:.3f} is"
        for precision, each in reached.items()
    }
    if fitted.gold:
        shares["best_f1_at_precision"] = round(made.curve.best_f1(quality.answers, fitted.gold).precision, 3)
    return {
        "mentions": fitted.mentions,
        **({"types": list(fitted.types)} if fitted.types else {}),
        "documents": fitted.documents,
        "left_out": fitted.left_out,
        "answers": quality.answers,
        "right": round(quality.accuracy, 4),
        "by": "score" if "ByScore" in type(made.way).__name__ else "evidence",
        "ece": round(quality.ece, 4),
        "auroc": None if quality.auroc is None else round(quality.auroc, 4),
        **shares,
    }
