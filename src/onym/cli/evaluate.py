"""`onym evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, shown_on, write_json, write_lines
from onym.cli.evaluating import BENCHMARK, DATA, KB, PROTOCOL, REPLACED, SPLIT, Question
from onym.cli.linking import LINKER
from onym.cli.options import DOWNLOAD


def command(
    context: typer.Context,
    benchmark: Annotated[str, BENCHMARK],
    predictions: Annotated[
        Path | None,
        typer.Argument(help="Predictions of onym link; for the end-to-end protocols a corpus whose mentions were predicted."),
    ] = None,
    linker: Annotated[str, LINKER] = "",
    protocol: Annotated[str, PROTOCOL] = "strict",
    split: Annotated[str, SPLIT] = "test",
    kb: Annotated[Path | None, KB] = None,
    data: Annotated[Path | None, DATA] = None,
    replaced: Annotated[Path | None, REPLACED] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page to look at, .html.")] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the linker's predictions in this file.")] = None,
    download: Annotated[bool, DOWNLOAD] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over what exists.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Score predictions, or a linker, on a benchmark, by a named protocol.

    Example: onym evaluate --linker tfidf --benchmark ncbi-disease-biosyn --protocol biosyn --report tfidf.html
    """
    from onym.cli.options import own_options
    from onym.errors import ConfigError
    from onym.evaluate.end_to_end import END_TO_END
    from onym.linkers import linker_config
    from onym.store.parts import OpenContext

    if (predictions is None) == (not linker):
        raise ConfigError("config-invalid", "either predictions or a linker can be scored", fix="name a file, or --linker")
    with progress("evaluating") as bar:
        question = Question.open(benchmark, data, split, kb, protocol, replaced)
        if protocol in END_TO_END:
            figures = question.end_to_end(predictions)
        else:
            config = linker_config(linker, **own_options(context.obj)) if linker else None
            opening = OpenContext(download, shown_on(bar))
            evaluation = question.evaluation(predictions, config, save, force=force, context=opening)
    if protocol in END_TO_END:
        write_json(figures) if json else write_lines([(key, str(value)) for key, value in figures.items()])
        return
    question.show(evaluation, report, json=json, force=force)
