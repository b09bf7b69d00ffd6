"""`onym corpus check`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines
from onym.cli.corpus._items import FAILED, FOLLOW_LINKS, counted, files_as_dict


def command(
    source: Annotated[Path, typer.Argument(help="A corpus: a file, a folder or an archive.")],
    from_: Annotated[str, typer.Option("--from", help="Format of the corpus; by default it is recognised.")] = "",
    follow_links: Annotated[bool, FOLLOW_LINKS] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """List the problems of a corpus, by document and line, and ignored files. Exit status 5 if there are problems.

    Example: onym corpus check NCBItrainset_corpus.txt
    """
    from onym.corpora.check import check_corpus
    from onym.corpora.corpus import read_corpus

    with progress("checking") as bar:
        reading = read_corpus(source, from_, follow_links=follow_links)
        problems = list(check_corpus(counted(reading, bar)))
    if json:
        write_json({**files_as_dict(reading.files), "problems": [asdict(problem) for problem in problems]})
    else:
        rows = [(problem.code, problem.document_id, problem.what, problem.where) for problem in problems]
        rows += [("ignored", file.name, file.why, "") for file in reading.files if file.state == "ignored"]
        write_lines(rows if problems else [*rows, ("ok", "nothing wrong was found")])
    if problems:
        raise typer.Exit(FAILED)
