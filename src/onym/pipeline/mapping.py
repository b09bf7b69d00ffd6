"""From a column of terms in one table to their concepts in another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from onym.corpora.isolation import require_complete
from onym.errors import ConfigError
from onym.kb.masks import ConceptMask
from onym.linkers.base import Linker
from onym.pipeline.pipeline import Pipeline
from onym.predictions.mapping.sssom import write_sssom
from onym.predictions.mapping.table import write_table
from onym.predictions.mapping.terms import TermMapping, TermTable, read_terms
from onym.store.output import whole_file
from onym.store.output_path import STDOUT, require_file
from onym.types import Document, LinkedDocument, Progress, silent

SSSOM, TABLE = ".sssom.tsv", ".tsv"


def map_terms(
    table: TermTable, linker: Linker | Pipeline, *, top_k: int = 5, only: ConceptMask | None = None
) -> Iterator[TermMapping]:
    """Yield every row with the concepts of its term; an empty cell has none.

    A column holds terms of one kind: with `only`, other concepts are ignored and do not compete. A pipeline has its own.
    """
    rows: list[tuple[str, ...]] = []

    def documents() -> Iterator[Document]:
        for cells in table.rows:
            rows.append(cells)
            yield table.document(cells, str(len(rows)))

    if isinstance(linker, Pipeline):
        found: Iterable[LinkedDocument] = linker.link_many(documents())
    else:
        found = linker.link(documents(), top_k=top_k, only=only)
    for linked in require_complete(found):
        yield TermMapping.of(rows[int(linked.document.id) - 1], linked)


def map_table(
    path: Path,
    column: str,
    linker: Linker | Pipeline,
    output: Path,
    *,
    top_k: int = 5,
    only: ConceptMask | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> dict[str, int]:
    """Map a column of terms; the name of `output` tells the format, and `-` is a table on standard output. Return counts."""
    require_mapping(output, force=force)
    table = read_terms(path, column)
    counts: Counter[str] = Counter(rows=0, empty=0, mapped=0, tied=0, unmapped=0)
    mappings = _counted(map_terms(table, linker, top_k=top_k, only=only), counts, progress)
    source = linker.linker if isinstance(linker, Pipeline) else linker
    with whole_file(output, force=force) as file:
        if output.name.endswith(SSSOM):
            write_sssom(mappings, source, file)
        else:
            write_table(mappings, table.columns, linker.kb, file)
    return dict(counts)


def require_mapping(output: Path, *, force: bool = False) -> None:
    """Refuse, before any work, an output that could not be written, or whose name tells no format; `-` is standard output."""
    if output != STDOUT and not output.name.endswith(TABLE):
        fix = f"name it {output.stem}.tsv, or {output.stem}.sssom.tsv for SSSOM"
        raise ConfigError("format-unknown", "mappings are written as .tsv", where=str(output), fix=fix)
    require_file(output, force=force, may_stream=True)


def _counted(mappings: Iterable[TermMapping], counts: Counter[str], progress: Progress) -> Iterator[TermMapping]:
    for mapping in mappings:
        counts["rows"] += 1
        counts["mapped" if mapping.answer else "unmapped" if mapping.term else "empty"] += 1
        counts["tied"] += mapping.is_tied
        progress("mapping", counts["rows"])
        yield mapping
