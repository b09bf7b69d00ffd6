"""A column of terms and its mapping: reading the table, the terms as documents of one mention, and what a term is mapped to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onym.kb import KnowledgeBase
from onym.store.files.source import InputFile
from onym.store.files.table import TableFormat, header, iter_table, require_columns
from onym.store.files.xlsx import read_xlsx
from onym.text.normal import normal_name
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

    @property
    def is_exact(self) -> bool:
        """True where the term is a name of the best concept and of no other that is as good."""
        return self.answer is not None and not self.is_tied and self.answer.name == normal_name(self.term)

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


def term_document(term: str, document_id: str) -> Document:
    """Return a term as a document that is one mention; an empty one has no mention.

    >>> term_document(" Fever ", "1").mentions[0].end
    5
    """
    term = term.strip()
    return Document(document_id, term, (Mention(0, len(term), term),) if term else ())


def shown_name(candidate: Candidate, kb: KnowledgeBase) -> str:
    """Return the name of a candidate's concept that a person should see."""
    return kb.preferred_form(kb.concept_ids.find(candidate.concept_id))


_DELIMITERS = (",", ";", "\t")


def read_terms(path: Path | str, column: str) -> TermTable:
    """Open a table; the ending of its name says how it is written. Packed files are unpacked.

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
        rows = read_xlsx(path)
        columns = list(next(rows, ()))
        cells: Iterator[tuple[str, ...]] = (row[: len(columns)] for row in rows if any(row))
    elif path.suffix == ".parquet":
        from onym.store.files.parquet import iter_parquet, parquet_schema  # pyarrow is slow to import, and links do not need it

        schema = parquet_schema(file)
        columns = schema.names
        cells = (tuple(map(_text, row)) for batch in iter_parquet(file, schema) for row in _rows(batch, columns))
    else:
        form = TableFormat(_delimiter(file, column), quoted=True)
        columns = header(file, form)
        cells = (row for batch in iter_table(file, form, list(dict.fromkeys(columns))) for row in _rows(batch, columns))
    require_columns(columns, [column], file)
    return TermTable(tuple(columns), cells, columns.index(column))


def count_rows(path: Path, column: str) -> int:
    """Return how many rows a table has; the column must be there."""
    return sum(1 for _ in read_terms(path, column).rows)


def _delimiter(file: InputFile, column: str) -> str:
    """Return what separates the columns: in a .csv, that which makes one of the wanted name, else of the most names."""
    if not file.stem.endswith(".csv"):
        return "\t"
    names = {each: header(file, TableFormat(each, quoted=True)) for each in _DELIMITERS}
    named = [each for each in _DELIMITERS if column in names[each]]
    return named[0] if named else max(_DELIMITERS, key=lambda each: len(names[each]))


def _rows(batch: Any, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
