"""`onym compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, stderr, write_json
from onym.cli.evaluating import BENCHMARK, DATA, KB, PROTOCOL, REPLACED, SPLIT, Question


def command(
    first: Annotated[Path, typer.Argument(help="Predictions of one system.")],
    second: Annotated[Path, typer.Argument(help="Predictions of another.")],
    benchmark: Annotated[str, BENCHMARK],
    protocol: Annotated[str, PROTOCOL] = "strict",
    split: Annotated[str, SPLIT] = "test",
    kb: Annotated[Path | None, KB] = None,
    data: Annotated[Path | None, DATA] = None,
    replaced: Annotated[Path | None, REPLACED] = None,
    angel_t_test: Annotated[
        bool, typer.Option("--angel-t-test", help="Also ANGEL's t-test over bootstrap replicates, which must not be believed.")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Compare two systems on the same mentions: the difference, its interval, and whether chance may have made it.

    Example: onym compare exact.jsonl tfidf.jsonl --benchmark ncbi-disease-biosyn
    """
    from rich.console import Console

    from onym.evaluate.comparison import compare
    from onym.evaluate.report.comparison import comparison_tables

    with progress("comparing"):
        question = Question.open(benchmark, data, split, kb, protocol, replaced)
        found = compare(question.evaluation(first), question.evaluation(second), with_t_test=angel_t_test)
    if found.t_test:
        stderr().print(found.t_test.warning, style="yellow")
    if json:
        write_json(found.as_dict())
        return
    console = Console()
    for table in comparison_tables(found, first.name, second.name):
        console.print(table)
