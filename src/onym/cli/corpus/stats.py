"""`onym corpus stats`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines
from onym.cli.corpus._items import FAILED, FOLLOW_LINKS, any_failed, counted, file_rows, files_as_dict, report_files


def command(
    source: Annotated[Path, typer.Argument(help="A corpus: a file, a folder or an archive.")],
    from_: Annotated[str, typer.Option("--from", help="Format of the corpus; by default it is recognised.")] = "",
    follow_links: Annotated[bool, FOLLOW_LINKS] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Count files, documents, mentions and concepts, by type and by vocabulary. Exit status 5 if something could not be read.

    Example: onym corpus stats CDR_TestSet.PubTator.txt
    """
    from onym.corpora.check import corpus_stats
    from onym.corpora.corpus import read_corpus

    with progress("counting") as bar:
        reading = read_corpus(source, from_, follow_links=follow_links)
        stats = corpus_stats(counted(reading, bar))
    counts = stats.as_dict()
    if json:
        write_json({**files_as_dict(reading.files), **counts})
    else:
        rows = [(key.replace("_", " "), f"{value:,}") for key, value in counts.items() if isinstance(value, int)]
        for key, word in (("types", "type"), ("vocabularies", "vocabulary"), ("problems", "problem")):
            rows += [(word, f"{name}: {count:,}") for name, count in counts[key].items()]
        write_lines([*file_rows(reading.files), *rows])
        report_files(reading.files)
    if any_failed(reading.files) or stats.left_out:
        raise typer.Exit(FAILED)
