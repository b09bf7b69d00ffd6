"""A column of terms and its mapping: reading the table, the terms as documents of one mention, mappings as a table or SSSOM."""

from __future__ import annotations

import codecs
import csv
import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from onym._version import __version__
from onym.kb import KnowledgeBase
from onym.linkers.base import AnswerSource
from onym.outputs.rows import write_rows
from onym.store.files.parquet import iter_parquet, parquet_schema
from onym.store.files.source import InputFile
from onym.store.files.table import TableFormat, header, iter_table, require_columns
from onym.store.files.xlsx import read_xlsx
from onym.text.normal import normal_name
from onym.types import Candidate, Document, IdStyle, LinkedDocument, Mention, NilReason, styled


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


COLUMNS: dict[str, type] = {
    "concept_id": str,
    "preferred_name": str,
    "matched_name": str,
    "score": float,
    "confidence": float,
    "ties": int,
    "nil_reason": str,
    "candidates": str,
}
"""What is put after the columns of the table."""
_DIGITS = 4


def write_table(
    mappings: Iterable[TermMapping],
    own: Sequence[str],
    kb: KnowledgeBase,
    path: Path,
    file: BinaryIO,
    *,
    style: IdStyle = "obo",
) -> None:
    """Write a table with its own columns, the best concept, and all candidates."""
    rows = ([*mapping.cells, *values_of(mapping, kb, style)] for mapping in mappings)
    write_rows(rows, columns_of(own), path, file)


def columns_of(own: Sequence[str]) -> dict[str, type]:
    """Return all columns, and what is in them; of a name that is there twice, the later one gets a number.

    >>> list(columns_of(["term", "score"]))[:6]
    ['term', 'score', 'concept_id', 'preferred_name', 'matched_name', 'score_2']
    """
    columns: dict[str, type] = {}
    for name, kind in [*((name, str) for name in own), *COLUMNS.items()]:
        number = 1
        unique = name
        while unique in columns:
            number += 1
            unique = f"{name}_{number}"
        columns[unique] = kind
    return columns


def values_of(mapping: TermMapping, kb: KnowledgeBase, style: IdStyle = "obo") -> list[Any]:
    """Return what is put after the cells of a row."""
    best = mapping.answer
    answer: list[Any] = [None] * 4
    if best:
        answer = [styled(best.concept_id, style), shown_name(best, kb), best.name, round(best.score, _DIGITS)]
    confidence = None if mapping.confidence is None else round(mapping.confidence, _DIGITS)
    shown = "; ".join(
        f"{styled(each.concept_id, style)} {shown_name(each, kb)} ({each.score:.3f})" for each in mapping.candidates
    )
    return [*answer, confidence, mapping.tied if mapping.candidates else None, mapping.nil_reason, shown or None]


SSSOM_COLUMNS = (
    "subject_label",
    "subject_type",
    "predicate_id",
    "object_id",
    "object_label",
    "mapping_justification",
    "object_match_field",
    "match_string",
    "similarity_score",
    "similarity_measure",
    "confidence",
)
_MEASURES = {"tfidf": "cosine of character 3-gram TF-IDF"}


def write_sssom(mappings: Iterable[TermMapping], linker: AnswerSource, file: BinaryIO) -> None:
    """Write a row for every candidate of every term; a term without any has none."""
    rows = [_row(mapping, candidate, linker) for mapping in mappings for candidate in mapping.candidates]
    text = codecs.getwriter("utf-8")(file)  # which, unlike io's, leaves the file open whatever happens
    text.writelines(f"#{line}\n" for line in _head(linker, rows))
    writer = csv.writer(text, dialect="excel-tab", lineterminator="\n")
    writer.writerow(SSSOM_COLUMNS)
    writer.writerows(rows)


def _head(linker: AnswerSource, rows: list[tuple[str, ...]]) -> Iterable[str]:
    content = json.dumps([linker.config, linker.kb.digest, rows])
    yield f"mapping_set_id: urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}"
    yield "license: https://w3id.org/sssom/license/unspecified"
    yield "mapping_tool: onym"
    yield f'mapping_tool_version: "{__version__}"'
    yield f'object_source_version: "{linker.kb.digest}"'
    yield f'comment: "linker {linker.config["linker"]}"'
    yield "curie_map:"
    for prefix in sorted({row[3].partition(":")[0] for row in rows}):
        yield f'  {prefix}: "https://bioregistry.io/{prefix}:"'


def _row(mapping: TermMapping, candidate: Candidate, linker: AnswerSource) -> tuple[str, ...]:
    is_name = candidate.name == normal_name(mapping.term)
    return (
        mapping.term,
        "rdfs literal",
        "skos:exactMatch" if mapping.is_exact and candidate is mapping.answer else "skos:closeMatch",
        candidate.concept_id,
        shown_name(candidate, linker.kb),
        "semapv:LexicalMatching" if is_name else "semapv:LexicalSimilarityThresholdMatching",
        "skos:prefLabel" if _is_preferred(candidate, linker.kb) else "skos:altLabel",
        candidate.name,
        "1.0" if is_name else f"{candidate.score:.6f}",
        "equality of normalised names" if is_name else _MEASURES.get(str(linker.config["linker"]), "the linker's score"),
        f"{mapping.confidence:.3f}" if mapping.confidence is not None and candidate is mapping.candidates[0] else "",
    )


def _is_preferred(candidate: Candidate, kb: KnowledgeBase) -> bool:
    return normal_name(shown_name(candidate, kb)) == candidate.name
