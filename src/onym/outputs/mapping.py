"""Maps a column of terms: reads a table, links the terms, and writes a table with their concepts."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from onym.corpora.problems import require_complete
from onym.outputs.base import NO_OPTIONS, ExportOptions, TermContext, check_terms, write_term_output
from onym.outputs.terms import TermMapping, TermTable, term_document
from onym.pipeline.pipeline import Pipeline
from onym.store.files.parquet import iter_parquet, parquet_schema
from onym.store.files.source import InputFile
from onym.store.files.table import header, iter_table, require_columns, sniff_format
from onym.store.files.xlsx import cell_text, read_cells, require_few_rows
from onym.store.output import require_file
from onym.types import IdStyle, LinkedDocument, Progress, Row, require_text, silent

MAPPED_COLUMNS = ("concept_id", "preferred_name", "matched_name", "score", "confidence", "nil_reason")
"""Columns of the result for a term."""
_NOTHING: Row = dict.fromkeys(MAPPED_COLUMNS)


def read_terms(path: Path | str, column: str) -> TermTable:
    """Open a table in the format of its extension; compressed files are supported.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "terms.csv"
    >>> _ = path.write_text("code;term\\n1;fever\\n")
    >>> table = read_terms(path, "term")
    >>> table.columns, list(table.rows)
    (('code', 'term'), [('1', 'fever')])
    """
    path = Path(path)
    file = InputFile.from_path(path)
    if path.suffix == ".xlsx":
        rows = read_cells(path)
        columns = [cell_text(name) for name in next(rows, ())]
        cells: Iterator[tuple[Any, ...]] = (row[: len(columns)] for row in rows if any(map(cell_text, row)))
    elif path.suffix == ".parquet":
        schema = parquet_schema(file)
        columns = schema.names
        cells = (tuple(map(_text, row)) for batch in iter_parquet(file, schema) for row in _rows(batch, columns))
    else:
        form = sniff_format(file, [column])
        columns = header(file, form)
        cells = (row for batch in iter_table(file, form, list(dict.fromkeys(columns))) for row in _rows(batch, columns))
    require_columns(columns, [column], file)
    return TermTable(tuple(columns), cells, columns.index(column))


def count_rows(path: Path, column: str) -> int:
    """Return the number of rows of a table; raise an error if the column is missing."""
    return sum(1 for _ in read_terms(path, column).rows)


def _rows(batch: Any, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def map_terms(table: TermTable, pipeline: Pipeline, *, top_k: int | None = None) -> Iterator[TermMapping]:
    """Yield each row with at most `top_k` candidates of its term, or as many as the pipeline gives; an empty cell has none."""
    rows: deque[tuple[Any, ...]] = deque()

    def terms() -> Iterator[str]:
        for values in table.rows:
            rows.append(values)
            yield cell_text(values[table.column])

    for linked in link_terms(terms(), pipeline):
        mapping = TermMapping.of(rows.popleft(), linked)
        yield replace(mapping, candidates=mapping.candidates[:top_k])


def link_terms(terms: Iterable[str], pipeline: Pipeline) -> Iterator[LinkedDocument]:
    """Yield each term as a linked document with one mention, or without mentions if the term is empty. Problems are raised.

    >>> from onym.kb import KnowledgeBase
    >>> from onym.methods.exact import ExactLinker
    >>> pipeline = Pipeline(ExactLinker(KnowledgeBase.open(getfixture("tiny_kb"))))
    >>> [len(linked.links) for linked in link_terms(["Fever", ""], pipeline)]
    [1, 0]
    """
    documents = (term_document(term, str(number)) for number, term in enumerate(terms, 1))
    return require_complete(pipeline.for_terms().link_many(documents))


def map_to_rows(terms: Sequence[Any], pipeline: Pipeline) -> list[Row]:
    """Return a row of `MAPPED_COLUMNS` for each term; all values are None for a missing term."""
    for number, term in enumerate(terms, 1):
        if term is not None:
            require_text(term, where=f"row {number}")
    distinct = [term for term in dict.fromkeys(terms) if term is not None]
    rows = {term: _cut(linked) for term, linked in zip(distinct, link_terms(distinct, pipeline), strict=True)}
    return [_NOTHING if term is None else rows[term] for term in terms]


def _cut(linked: LinkedDocument) -> Row:
    return next(({name: row[name] for name in MAPPED_COLUMNS} for row in linked.rows()), _NOTHING)


def map_table(
    path: Path,
    column: str,
    pipeline: Pipeline,
    output: Path,
    *,
    top_k: int | None = None,
    style: IdStyle = "obo",
    force: bool = False,
    options: ExportOptions = NO_OPTIONS,
    progress: Progress = silent,
) -> Counter[str]:
    """Map a column of terms, write the result to `output` (`-` is stdout), and return counts. The extension sets the format."""
    require_mapping(path, column, output, force=force, options=options)
    table = read_terms(path, column)
    return write_mappings(table, pipeline, output, top_k=top_k, style=style, force=force, options=options, progress=progress)


def write_mappings(
    table: TermTable,
    pipeline: Pipeline,
    output: Path,
    *,
    top_k: int | None = None,
    style: IdStyle = "obo",
    force: bool = False,
    options: ExportOptions = NO_OPTIONS,
    progress: Progress = silent,
) -> Counter[str]:
    """Map an open table and return counts; call `require_mapping` first."""
    counts = new_counts()
    mappings = count_mappings(map_terms(table, pipeline, top_k=top_k), counts, progress)
    write_term_output(mappings, TermContext(output, table.columns, pipeline, counts, style, top_k, options), force=force)
    return counts


def require_mapping(path: Path, column: str, output: Path, *, force: bool = False, options: ExportOptions = NO_OPTIONS) -> int:
    """Before any work, raise an error if a column is missing or the output (`-` means stdout) cannot be written.

    Return the number of rows.
    """
    check_terms(output, options)
    require_file(output, force=force, may_stream=True)
    rows = count_rows(path, column)
    if options.code_column:
        read_terms(path, options.code_column)
    if output.suffix == ".xlsx":
        require_few_rows(rows, str(output))
    return rows


def new_counts() -> Counter[str]:
    """Return the counts of a mapping, all zero."""
    return Counter(rows=0, empty=0, mapped=0, tied=0, unmapped=0)


def count_mappings(mappings: Iterable[TermMapping], counts: Counter[str], progress: Progress = silent) -> Iterator[TermMapping]:
    """Yield mappings while updating counts and progress."""
    for mapping in mappings:
        counts["rows"] += 1
        counts["mapped" if mapping.answer else "unmapped" if mapping.term else "empty"] += 1
        counts["tied"] += mapping.is_tied
        progress("mapping", counts["rows"])
        yield mapping
