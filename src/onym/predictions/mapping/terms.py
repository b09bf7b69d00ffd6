"""A column of terms to concepts: every cell is a document that is one mention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from onym.kb import KnowledgeBase
from onym.linkers.base import ConceptMask, Linker, are_tied
from onym.store.files.source import InputFile
from onym.store.files.table import TableFormat, header, iter_table
from onym.types import Candidate, Document, Mention


@dataclass(frozen=True, slots=True)
class TermMapping:
    """A row of a table, the term in it, and the concepts proposed for it, best first."""

    cells: tuple[str, ...]
    term: str
    candidates: tuple[Candidate, ...]

    @property
    def is_tied(self) -> bool:
        """True where a second concept has the best score: a person must choose."""
        return are_tied(self.candidates)


@dataclass(frozen=True, slots=True)
class TermTable:
    """A table with a header, and the column of it that holds terms."""

    columns: tuple[str, ...]
    rows: Iterable[tuple[str, ...]]
    place: int


def read_terms(path: Path | str, column: str) -> TermTable:
    """Open a table: comma-separated if its name says csv, else by tabs. Packed files are unpacked.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "terms.csv"
    >>> _ = path.write_text("code,term\\n1,fever\\n")
    >>> table = read_terms(path, "term")
    >>> table.columns, list(table.rows)
    (('code', 'term'), [('1', 'fever')])
    """
    file = InputFile.from_path(Path(path))
    form = TableFormat(delimiter="," if file.stem.endswith(".csv") else "\t", quoted=True)
    columns = header(file, form)
    batches = iter_table(file, form, list(dict.fromkeys([column, *columns])))  # also refuses a column that is not there
    place = columns.index(column) if column in columns else 0
    rows = (row for batch in batches for row in zip(*(batch.column(name).to_pylist() for name in columns), strict=True))
    return TermTable(tuple(columns), rows, place)


def map_terms(table: TermTable, linker: Linker, *, top_k: int = 5, only: ConceptMask | None = None) -> Iterator[TermMapping]:
    """Yield every row with the concepts of its term; an empty cell has none."""
    rows: list[tuple[str, ...]] = []

    def documents() -> Iterator[Document]:
        for row in table.rows:
            term = row[table.place].strip()
            rows.append(row)
            yield Document(str(len(rows)), term, (Mention(0, len(term), term),) if term else ())

    for linked in linker.link(documents(), top_k=top_k, only=only):
        row = rows[int(linked.document.id) - 1]
        candidates = linked.links[0].candidates if linked.links else ()
        yield TermMapping(row, linked.document.text, candidates)


def shown_name(candidate: Candidate, kb: KnowledgeBase) -> str:
    """Return the name of a candidate's concept that a person should see."""
    return kb.preferred_form(kb.concept_ids.find(candidate.concept_id))
