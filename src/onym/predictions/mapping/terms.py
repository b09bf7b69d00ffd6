"""A column of terms: every cell is a document that is one mention, and gets its candidates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from onym.kb import KnowledgeBase
from onym.store.files.source import InputFile
from onym.store.files.table import TableFormat, header, iter_table
from onym.types import Candidate, Document, LinkedDocument, Mention, NilReason


@dataclass(frozen=True, slots=True)
class TermMapping:
    """A row of a table, the term in it, and the concepts proposed for it, best first.

    `tied`, `confidence` and `nil_reason` are those of `onym.Link`.
    """

    cells: tuple[str, ...]
    term: str
    candidates: tuple[Candidate, ...]
    tied: int = 0
    confidence: float | None = None
    nil_reason: NilReason | None = None

    @property
    def answer(self) -> Candidate | None:
        """The best concept; None where there is none, or where it is not confident enough."""
        return self.candidates[0] if self.candidates and self.nil_reason is None else None

    @property
    def is_tied(self) -> bool:
        """True where a second concept has the best score: a person should look at the choice."""
        return self.tied > 0

    @classmethod
    def of(cls, cells: tuple[str, ...], linked: LinkedDocument) -> TermMapping:
        """Return the mapping of a row whose term was linked."""
        if not linked.links:
            return cls(cells, linked.document.text, ())
        link = linked.links[0]
        return cls(cells, linked.document.text, link.candidates, link.tied, link.confidence, link.nil_reason)


@dataclass(frozen=True, slots=True)
class TermTable:
    """A table with a header, and the column of it that holds terms."""

    columns: tuple[str, ...]
    rows: Iterable[tuple[str, ...]]
    column: int

    def document(self, cells: tuple[str, ...], document_id: str) -> Document:
        """Return the term of a row as a document; an empty cell has no mention."""
        term = cells[self.column].strip()
        return Document(document_id, term, (Mention(0, len(term), term),) if term else ())


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
    rows = (row for batch in batches for row in _rows(batch, columns))
    return TermTable(tuple(columns), rows, columns.index(column) if column in columns else 0)


def _rows(batch: object, columns: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(batch.column(name).to_pylist() for name in columns), strict=True)  # type: ignore[attr-defined]


def shown_name(candidate: Candidate, kb: KnowledgeBase) -> str:
    """Return the name of a candidate's concept that a person should see."""
    return kb.preferred_form(kb.concept_ids.find(candidate.concept_id))
