"""`onym corpus stats`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, write_json, write_lines


def command(
    source: Annotated[Path, typer.Argument(help="A corpus: a file, a folder or an archive.")],
    from_: Annotated[str, typer.Option("--from", help="The format, where it is not recognised.")] = "",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Count documents, mentions and concepts, by type and by vocabulary.

    Example: onym corpus stats CDR_TestSet.PubTator.txt
    """
    from onym.cli.corpus._items import counted
    from onym.corpora.corpus import read_corpus
    from onym.corpora.stats import corpus_stats

    with progress("counting") as bar:
        counts = corpus_stats(counted(read_corpus(source, from_), bar)).as_dict()
    if json:
        write_json(counts)
        return
    rows = [(key.replace("_", " "), f"{value:,}") for key, value in counts.items() if isinstance(value, int)]
    for key, word in (("types", "type"), ("vocabularies", "vocabulary"), ("problems", "problem")):
        rows += [(word, f"{name}: {count:,}") for name, count in counts[key].items()]
    write_lines(rows)
