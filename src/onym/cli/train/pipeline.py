"""`onym train pipeline`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import log_to_stderr, write_lines
from onym.cli.train.training import DATA
from onym.errors import missing_extra


def command(
    dataset: Annotated[
        list[str],
        typer.Option("--dataset", "-d", help="The name of a dataset, or the folder of a prepared one. Several: give it again."),
    ],
    kb: Annotated[Path, typer.Option(help="The knowledge base that is linked to.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the pipeline.")],
    type: Annotated[  # noqa: A002 - the name of the option
        list[str] | None,
        typer.Option(
            help="An annotated type that counts, or TYPE=GROUP with the semantic group that it is; by default all. "
            "Several: give it again."
        ),
    ] = None,
    encoder: Annotated[
        str,
        typer.Option(
            help="Train a neural detector from this pretrained encoder, a folder or hub name; by default the dictionary."
        ),
    ] = "",
    epochs: Annotated[float, typer.Option(help="How often the neural detector reads the training documents.")] = 8.0,
    dense_encoder: Annotated[
        str | None, typer.Option(help="Give the reranker the candidates of this encoder, a folder, as well: a dense stage.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="A dataset whose dev and test documents are not learnt from either.")
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Learn from annotations that may not be passed on; keep the result to yourself.")
    ] = False,
    data: Annotated[Path | None, DATA] = None,
) -> None:
    """Train a whole pipeline on annotated documents: detector, reranker and confidence, in one run that can be resumed.

    Example: onym train pipeline --dataset mine --kb open-kb --type Disease -o my-pipeline
    """
    try:
        from onym.train.pipeline import PipelineTrainingConfig, train_pipeline
    except ImportError as e:
        raise missing_extra("training", "lexical") from e
    types = {name: group or name for name, _, group in (each.partition("=") for each in type or ())}
    wanted = {"datasets": dataset, "exclude": exclude or (), "private": private, "kb": str(kb), "types": types}
    models = {"encoder": encoder, "epochs": epochs, "dense_encoder": dense_encoder}
    with log_to_stderr("onym.train"):
        pipeline = train_pipeline(PipelineTrainingConfig.of(wanted | models), output, data)
    confidence = "calibrated" if pipeline.calibration is not None else "not calibrated: too few annotated mentions in dev"
    write_lines([("pipeline", str(output)), ("confidence", confidence)])
