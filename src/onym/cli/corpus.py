"""`onym corpus`: read annotated corpora and write them in other formats."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, progress, tell, write_json, write_lines
from onym.cli.inputs import (
    ENCODING,
    FAILED,
    FOLLOW_LINKS,
    ID_COLUMN,
    MAX_PROBLEMS,
    PROBLEMS,
    TEXT_COLUMN,
    count_items,
    file_rows,
    files_as_dict,
    has_failed_file,
    open_log,
    report_files,
    report_log,
)
from onym.cli.options import FORCE, ID_STYLE
from onym.types import IdStyle

app = typer.Typer(help="Inspect, check and convert annotated corpora.", no_args_is_help=True)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(help="Corpus: a file, folder or archive.")],
    output: Annotated[Path, typer.Argument(help="File or folder to write, or - for stdout.")],
    to: Annotated[str, typer.Option("--to", help="Output format.")],
    from_: Annotated[str, typer.Option("--from", help="Input format; detected by default.")] = "",
    id_style: Annotated[IdStyle | None, ID_STYLE] = None,
    text_column: Annotated[list[str] | None, TEXT_COLUMN] = None,
    id_column: Annotated[str, ID_COLUMN] = "",
    encoding: Annotated[str, ENCODING] = "",
    follow_links: Annotated[bool, FOLLOW_LINKS] = False,
    problems: Annotated[Path | None, PROBLEMS] = None,
    max_problems: Annotated[str, MAX_PROBLEMS] = "",
    force: Annotated[bool, FORCE] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Convert a corpus to another format. Problems are listed on stderr; exit status 5 if anything was left out.

    Example: onym corpus convert CDR_TestSet.PubTator.txt cdr --to brat
    """
    from onym.corpora.corpus import describe_loss, read_corpus, require_output, require_writable, write_corpus
    from onym.corpora.reading import is_of_file
    from onym.store.output import STDOUT

    require_output(output, require_writable(to), force=force)
    is_streamed = output == STDOUT
    with progress("converting") as bar, open_log(output, problems, max_problems, force=force) as log:
        reading = read_corpus(
            source, from_, follow_links=follow_links, text_columns=text_column or (), id_column=id_column, encoding=encoding
        )
        items = log.watch(count_items(reading, bar))
        written = write_corpus(items, output, to, force=force, style=id_style or "")
        for problem in written.unwritable:
            log.add(problem)
    if json:
        lost = dict(written.lost.most_common())
        counts = {"documents": written.documents, "mentions": written.mentions}
        listed = [asdict(problem) for problem in written.problems]
        write_json({**files_as_dict(reading.files), **counts, "lost": lost, "problems": listed}, to_stderr=is_streamed)
    else:
        totals = [("documents", f"{written.documents:,}"), ("mentions", f"{written.mentions:,}")]
        write_lines([*file_rows(reading.files), *totals], to_stderr=is_streamed)
        report_files(reading.files)
        rows = [describe_loss(to, facet, count) for facet, count in written.lost.most_common()]
        rows += [f"{p.code}: {p.document_id}: {p.what} {p.where}".rstrip() for p in written.problems if not is_of_file(p)]
        for row in rows:
            tell(row)
    report_log(log)
    if written.skipping_problems or has_failed_file(reading.files):
        raise typer.Exit(FAILED)


@app.command()
def check(
    source: Annotated[Path, typer.Argument(help="Corpus: a file, folder or archive.")],
    from_: Annotated[str, typer.Option("--from", help="Format of the corpus; detected by default.")] = "",
    text_column: Annotated[list[str] | None, TEXT_COLUMN] = None,
    id_column: Annotated[str, ID_COLUMN] = "",
    encoding: Annotated[str, ENCODING] = "",
    follow_links: Annotated[bool, FOLLOW_LINKS] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """List the problems of a corpus by document and line, and the ignored files. Exit status 5 if there are problems.

    Example: onym corpus check NCBItrainset_corpus.txt
    """
    from onym.corpora.check import check_corpus
    from onym.corpora.corpus import read_corpus

    with progress("checking") as bar:
        reading = read_corpus(
            source, from_, follow_links=follow_links, text_columns=text_column or (), id_column=id_column, encoding=encoding
        )
        problems = list(check_corpus(count_items(reading, bar)))
    if json:
        write_json({**files_as_dict(reading.files), "problems": [asdict(problem) for problem in problems]})
    else:
        rows = [(problem.code, problem.document_id, problem.what, problem.where) for problem in problems]
        rows += [("ignored", file.name, file.why, "") for file in reading.files if file.state == "ignored"]
        write_lines(rows if problems else [*rows, ("ok", "no problems found")])
    if problems:
        raise typer.Exit(FAILED)


@app.command()
def stats(
    source: Annotated[Path, typer.Argument(help="Corpus: a file, folder or archive.")],
    from_: Annotated[str, typer.Option("--from", help="Format of the corpus; detected by default.")] = "",
    text_column: Annotated[list[str] | None, TEXT_COLUMN] = None,
    id_column: Annotated[str, ID_COLUMN] = "",
    encoding: Annotated[str, ENCODING] = "",
    follow_links: Annotated[bool, FOLLOW_LINKS] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Count files, documents, mentions and concepts, by type and by vocabulary. Exit status 5 if something could not be read.

    Example: onym corpus stats CDR_TestSet.PubTator.txt
    """
    from onym.corpora.check import corpus_stats
    from onym.corpora.corpus import read_corpus

    with progress("counting") as bar:
        reading = read_corpus(
            source, from_, follow_links=follow_links, text_columns=text_column or (), id_column=id_column, encoding=encoding
        )
        stats = corpus_stats(count_items(reading, bar))
    counts = stats.as_dict()
    if json:
        write_json({**files_as_dict(reading.files), **counts})
    else:
        rows = [(key.replace("_", " "), f"{value:,}") for key, value in counts.items() if isinstance(value, int)]
        for key, word in (("types", "type"), ("vocabularies", "vocabulary"), ("problems", "problem")):
            rows += [(word, f"{name}: {count:,}") for name, count in counts[key].items()]
        write_lines([*file_rows(reading.files), *rows])
        report_files(reading.files)
    if has_failed_file(reading.files) or stats.left_out:
        raise typer.Exit(FAILED)
