"""`onym corpus check`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines


def command(
    source: Annotated[Path, typer.Argument(help="A corpus: a file, a folder or an archive.")],
    from_: Annotated[str, typer.Option("--from", help="The format, where it is not recognised.")] = "",
    json: Annotated[bool, JSON] = False,
) -> None:
    """List the problems of a corpus, by document and line. Exit status 5 if there are any.

    Example: onym corpus check NCBItrainset_corpus.txt
    """
    from onym.cli.corpus._items import FAILED, counted
    from onym.corpora.check import check_corpus
    from onym.corpora.corpus import read_corpus

    with progress("checking") as bar:
        problems = list(check_corpus(counted(read_corpus(source, from_), bar)))
    if json:
        write_json([asdict(problem) for problem in problems])
    else:
        rows = [(problem.code, problem.document_id, problem.what, problem.where) for problem in problems]
        write_lines(rows or [("ok", "nothing wrong was found")])
    if problems:
        raise typer.Exit(FAILED)
