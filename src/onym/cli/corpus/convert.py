"""`onym corpus convert`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, stderr, write_json, write_lines


def command(
    source: Annotated[Path, typer.Argument(help="A corpus: a file, a folder or an archive.")],
    output: Annotated[Path, typer.Argument(help="The file or folder to write, or - for stdout.")],
    to: Annotated[str, typer.Option("--to", help="The format to write.")],
    from_: Annotated[str, typer.Option("--from", help="The format to read, where it is not recognised.")] = "",
    id_style: Annotated[
        str, typer.Option(help="curie (mesh:D1), obo (MESH:D1) or raw (D1); else as the source has them.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Write over what exists.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write a corpus in another format; what was left out goes to stderr. Exit status 5 if documents or mentions were.

    Example: onym corpus convert CDR_TestSet.PubTator.txt cdr --to brat
    """
    from onym.cli.corpus._items import FAILED, counted
    from onym.corpora.corpus import read_corpus, require_output, require_writable, write_corpus
    from onym.corpora.facets import describe_loss
    from onym.errors import ConfigError
    from onym.store.output_path import STDOUT

    if id_style not in ("", "curie", "obo", "raw"):
        raise ConfigError("config-invalid", f"no id style {id_style!r}", fix="known are curie, obo, raw")
    require_output(output, require_writable(to), force=force)
    with progress("converting") as bar:
        items = counted(read_corpus(source, from_), bar)
        written = write_corpus(items, output, to, force=force, style=id_style)  # type: ignore[arg-type]
    is_streamed = output == STDOUT
    if json:
        problems = [asdict(problem) for problem in written.problems]
        lost = dict(written.lost.most_common())
        counts = {"documents": written.documents, "mentions": written.mentions}
        write_json({**counts, "lost": lost, "problems": problems}, to_stderr=is_streamed)
    else:
        shown = [("documents", f"{written.documents:,}"), ("mentions", f"{written.mentions:,}")]
        write_lines(shown, to_stderr=is_streamed)
        rows = [describe_loss(to, facet, count) for facet, count in written.lost.most_common()]
        rows += [f"{p.code}: {p.document_id}: {p.what} {p.where}".rstrip() for p in written.problems]
        for row in rows:
            stderr().print(row, markup=False, highlight=False, soft_wrap=True)
    if written.left_out:
        raise typer.Exit(FAILED)
