"""OMOP exports: links as `note_nlp`, mapped terms as `source_to_concept_map`.

OMOP concept ids are read from vocabulary files that a site downloads from Athena (`CONCEPT.csv`, `CONCEPT_RELATIONSHIP.csv`);
they are licensed, so they are not part of Onym. A code identifies the *source* concept in its own vocabulary. OMOP tables also
require the *standard* concept: the source concept itself, or the concepts that it maps to.
"""

from __future__ import annotations

import datetime
import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from onym.errors import ConfigError, InputError, format_id
from onym.outputs.base import ExportOptions, OutputContext, TermContext, Vocabularies, require_vocabulary_id
from onym.outputs.rows import write_plain_csv
from onym.outputs.terms import TermMapping
from onym.store.files.source import InputFile
from onym.store.files.table import TableFormat, iter_table
from onym.store.output import require_file, whole_file
from onym.types import AssertionMark, Document, Link, LinkedDocument, style_id

ENDINGS, TERM_ENDINGS = ("note_nlp.csv",), ("source_to_concept_map.csv",)
NO_CONCEPT = 0
"""OMOP's id for "no matching concept"."""
CONCEPTS, RELATIONSHIPS = "CONCEPT.csv", "CONCEPT_RELATIONSHIP.csv"
_STANDARD, _MAPS_TO = "S", "Maps to"
_LIMIT = 2**31  # first number that is too large: ids are signed 32-bit integers
Key = tuple[str, str]
"""A vocabulary_id and a concept_code."""


class StandardConcept(NamedTuple):
    """A standard concept of OMOP, with its vocabulary."""

    id: int
    vocabulary: str


class OmopConcept(NamedTuple):
    """The source concept of a code, and the standard concepts that it maps to (zero or more)."""

    id: int
    standard: tuple[StandardConcept, ...] = ()


class OmopConcepts:
    """OMOP concepts by vocabulary and code.

    >>> OmopConcepts({("SNOMED", "386661006"): OmopConcept(437663)}).find("SNOMED", "386661006").id
    437663
    >>> OmopConcepts().find("MeSH", "D005334") is None
    True
    """

    def __init__(self, concepts: dict[Key, OmopConcept] | None = None) -> None:
        self._concepts = concepts or {}

    def __len__(self) -> int:
        """Return the number of codes."""
        return len(self._concepts)

    def find(self, vocabulary: str, code: str) -> OmopConcept | None:
        """Return the concept of a code; None if it is unknown."""
        return self._concepts.get((vocabulary, code))

    @classmethod
    def read(cls, folder: Path, vocabularies: Collection[str]) -> OmopConcepts:
        """Read the concepts of vocabularies from an Athena download. Without CONCEPT_RELATIONSHIP.csv, none maps to another."""
        ids: dict[Key, int] = {}
        standard: dict[int, tuple[StandardConcept, ...]] = {}
        for number, vocabulary, code, mark in _rows(folder / CONCEPTS, _CONCEPT, "vocabulary_id", vocabularies):
            concept = _whole_number(number, folder / CONCEPTS)
            ids[vocabulary, code] = concept
            if mark == _STANDARD:
                standard[concept] = (StandardConcept(concept, vocabulary),)
        if (folder / RELATIONSHIPS).exists():
            standard |= _find_standard_concepts(folder, {concept for concept in ids.values() if concept not in standard})
        return cls({key: OmopConcept(concept, standard.get(concept, ())) for key, concept in ids.items()})


_CONCEPT = ("concept_id", "vocabulary_id", "concept_code", "standard_concept")
_RELATIONSHIP = ("concept_id_1", "concept_id_2", "relationship_id", "invalid_reason")


def _find_standard_concepts(folder: Path, concepts: Collection[int]) -> dict[int, tuple[StandardConcept, ...]]:
    """Return the standard concepts that these non-standard concepts map to."""
    wanted = {str(concept) for concept in concepts}
    pairs = [
        (first, second)
        for first, second, relation, invalid in _rows(folder / RELATIONSHIPS, _RELATIONSHIP, "concept_id_1", wanted)
        if relation == _MAPS_TO and not invalid and first != second
    ]
    targets = {second for _, second in pairs}
    vocabularies = {
        number: vocabulary
        for number, vocabulary, _, mark in _rows(folder / CONCEPTS, _CONCEPT, "concept_id", targets)
        if mark == _STANDARD
    }
    found: dict[int, set[StandardConcept]] = {}
    for first, second in pairs:
        if second in vocabularies:
            target = StandardConcept(_whole_number(second, folder / RELATIONSHIPS), vocabularies[second])
            found.setdefault(int(first), set()).add(target)
    return {concept: tuple(sorted(each)) for concept, each in found.items()}


def _rows(path: Path, columns: Sequence[str], by: str, values: Collection[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows whose column `by` has one of these values. Athena files are tab-separated without quoting."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array(sorted(values), pa.large_string())
    for batch in iter_table(InputFile.from_path(path), TableFormat(), columns):
        kept = batch.filter(pc.is_in(batch.column(by), value_set=wanted))
        yield from zip(*(kept.column(name).to_pylist() for name in columns), strict=True)


def _whole_number(text: str, path: Path) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) >= _LIMIT:
        fix = "give the folder of an unpacked Athena download"
        raise InputError("omop-vocabulary", "a concept_id is not a 32-bit integer", where=str(path), fix=fix)
    return int(text)


NOTE_ID_COLUMNS: dict[str, type] = {"note_id": int, "document": str, "source": str, "ordinal": int}
"""Columns of the --note-keys file: note_id, and the id, file and ordinal of the document."""
_FIX = "use the note_id of the OMOP table note as document id, or number the documents with --note-keys FILE"


class NoteIds:
    """Assigns note_ids: the document id itself. If a `keys` file is given, documents are numbered from 1 instead.

    >>> NoteIds().of(Document("4711", "fever"))
    4711
    >>> NoteIds().of(Document("ward 7", "fever"))
    Traceback (most recent call last):
    onym.errors.InputError: [omop-note-id] the document id is not a 32-bit integer, so it cannot be used as note_id...
    """

    def __init__(self, keys: BinaryIO | None = None) -> None:
        self._keys = keys
        self._seen: set[int] = set()
        self._count = 0
        if keys is not None:
            write_plain_csv([], NOTE_ID_COLUMNS, keys)

    def of(self, doc: Document) -> int:
        """Return the note_id of a document. Call this once per document, in the order of the documents."""
        if self._keys is not None:
            self._count += 1
            row = (self._count, doc.id, doc.source, doc.ordinal)
            write_plain_csv([row], NOTE_ID_COLUMNS, self._keys, header=False)
            return self._count
        number = _note_id(doc)
        if number in self._seen:
            raise InputError("omop-note-id", "two documents have the same note_id", where=_where(doc), fix=_FIX)
        self._seen.add(number)
        return number


def _note_id(doc: Document) -> int:
    if not doc.id.isascii() or not doc.id.isdecimal() or int(doc.id) >= _LIMIT:
        raise InputError(
            "omop-note-id",
            "the document id is not a 32-bit integer, so it cannot be used as note_id",
            where=_where(doc),
            fix=_FIX,
        )
    return int(doc.id)


def _where(doc: Document) -> str:
    return f"document {format_id(doc.id)}" + (f" ({doc.source}, {doc.ordinal})" if doc.ordinal else "")


NOTE_NLP_COLUMNS: dict[str, type] = {
    "note_nlp_id": int,
    "note_id": int,
    "section_concept_id": int,
    "snippet": str,
    "offset": str,
    "lexical_variant": str,
    "note_nlp_concept_id": int,
    "note_nlp_source_concept_id": int,
    "nlp_system": str,
    "nlp_date": str,
    "nlp_datetime": str,
    "term_exists": str,
    "term_temporal": str,
    "term_modifiers": str,
}
OMITTED = "[omitted]"
"""Value of lexical_variant if text is omitted, because this column may not be empty."""
_BREAKS = str.maketrans("\r\n", "  ")
_TEXT, _MODIFIERS = 250, 2000  # maximum code points of text columns and of term_modifiers
_NOT_THERE: tuple[AssertionMark, ...] = ("negated", "hypothetical", "other-experiencer")
_MODIFIER_OF: dict[AssertionMark, str] = {
    "negated": "negation=true",
    "possible": "uncertainty=true",
    "historical": "history=true",
    "hypothetical": "conditional=true",
    "other-experiencer": "subject=other",
}


@dataclass(frozen=True)
class NoteNlp:
    """Settings of the note_nlp table: date and name of the system, vocabulary names and concept ids."""

    nlp_date: datetime.date
    nlp_system: str = "onym"
    vocabularies: Vocabularies = field(default_factory=Vocabularies)
    concepts: OmopConcepts = field(default_factory=OmopConcepts)
    text: bool = True


def check(context: OutputContext) -> None:
    """Raise ConfigError if options are invalid for note_nlp, or if required options are missing."""
    options = context.options
    _check_vocabularies(options)
    if options.nlp_date is None:
        fix = "give the date of the run, as in --nlp-date 2026-01-31"
        raise ConfigError("omop-date", "note_nlp requires an nlp_date", fix=fix)
    if options.note_keys is not None:
        if options.note_keys == context.path:
            what, fix = "--note-keys and -o are the same file", "choose another file for --note-keys"
            raise ConfigError("config-invalid", what, where=str(context.path), fix=fix)
        require_file(options.note_keys, force=context.force)


def _check_vocabularies(options: ExportOptions) -> None:
    options.vocabularies.require_omop_ids()
    if options.omop_vocabulary is not None:
        InputFile.from_path(options.omop_vocabulary / CONCEPTS)


def site_concepts(options: ExportOptions, prefixes: Iterable[str]) -> OmopConcepts:
    """Read the OMOP concepts of the vocabularies with these prefixes. There are none without --omop-vocabulary."""
    if options.omop_vocabulary is None:
        return OmopConcepts()
    return OmopConcepts.read(options.omop_vocabulary, {options.vocabularies.omop_id(prefix) for prefix in prefixes})


def write(linked: Iterable[LinkedDocument], file: BinaryIO, context: OutputContext) -> None:
    """Write documents as `note_nlp`, and the --note-keys file, if given."""
    options, source = context.options, context.source
    system = f"onym {source['onym']}; linker {source['linker']['linker']}; knowledge base {source['kb']['digest'][:16]}"
    concepts = site_concepts(options, source["order"]["vocabularies"])
    table = NoteNlp(options.nlp_date or datetime.date.min, system, options.vocabularies, concepts, context.text)
    with whole_file(options.note_keys, force=context.force) if options.note_keys else nullcontext() as keys:
        write_note_nlp(linked, table, file, keys)


def write_note_nlp(linked: Iterable[LinkedDocument], table: NoteNlp, file: BinaryIO, keys: BinaryIO | None = None) -> None:
    """Write the table as CSV for a database: with a header, empty cells for NULL, and no escaping of formulas."""
    write_plain_csv(note_nlp_rows(linked, table, NoteIds(keys)), NOTE_NLP_COLUMNS, file)


def note_nlp_rows(linked: Iterable[LinkedDocument], table: NoteNlp, notes: NoteIds) -> Iterator[list[Any]]:
    """Yield the rows of linked documents.

    >>> from onym.types import Candidate, Document, Mention
    >>> fever = Mention(3, 8, "fever")
    >>> link = Link(fever, (Candidate("mesh:D005334", "fever", 1.0, "Fever"),), assertion=("negated",))
    >>> linked = LinkedDocument(Document("7", "No fever", (fever,)), (link,))
    >>> (row,) = note_nlp_rows([linked], NoteNlp(datetime.date(2026, 1, 2)), NoteIds())
    >>> row[:6], row[9], row[11:]
    ([1, 7, None, 'No fever', '3', 'fever'], '2026-01-02', ['N', 'present', 'code=MESH:D005334;end=8;score=1.0;negation=true'])
    """
    number = 0
    for each in linked:
        if not each.is_complete:
            continue
        note = notes.of(each.document)
        for link in each.links:
            for source, standard in _concept_ids(link, table):
                number += 1
                yield [number, note, *_row(link, each.document.text, source, standard, table)]


def _row(link: Link, text: str, source: int, standard: int, table: NoteNlp) -> list[Any]:
    mention = link.mention
    exists, temporal = _assertion_columns(link)
    return [
        None,
        _snippet(text, mention.start, mention.end) if table.text else None,
        str(mention.start),
        _storable(mention.surface[:_TEXT]) if table.text else OMITTED,
        standard,
        source,
        table.nlp_system[:_TEXT],
        table.nlp_date.isoformat(),
        None,
        exists,
        temporal,
        _modifiers(link)[:_MODIFIERS],
    ]


def _concept_ids(link: Link, table: NoteNlp) -> list[tuple[int, int]]:
    """Return (source concept id, standard concept id) pairs, one for each standard concept of the answer; 0 if unknown."""
    found = table.concepts.find(*table.vocabularies.omop(link.concept_id)) if link.concept_id else None
    if found is None:
        return [(NO_CONCEPT, NO_CONCEPT)]
    return [(found.id, each.id) for each in found.standard] or [(found.id, NO_CONCEPT)]


def _assertion_columns(link: Link) -> tuple[str | None, str | None]:
    if link.assertion is None:
        return None, None
    is_there = not any(mark in _NOT_THERE for mark in link.assertion)
    return "Y" if is_there else "N", "past" if "historical" in link.assertion else "present"


def _modifiers(link: Link) -> str:
    answer = link.answer
    values = {
        "code": style_id(answer.concept_id) if answer else None,
        "end": link.mention.end,
        "confidence": None if link.confidence is None else round(link.confidence, 4),
        "score": round(float(answer.score), 4) if answer else None,
        "nil": link.nil_reason,
    }
    marks = [_MODIFIER_OF[mark] for mark in link.assertion or ()]
    said = [f"{name}={value}".replace(";", ",") for name, value in values.items() if value is not None]
    return _storable(";".join([*said, *marks]))


def _snippet(text: str, start: int, end: int) -> str:
    """Return the mention with surrounding text up to the column width; line breaks become spaces."""
    before = max(0, start - max(0, _TEXT - (end - start)) // 2)
    return _storable(text[before : before + _TEXT].translate(_BREAKS))


def _storable(text: str) -> str:
    return text.replace("\x00", "\ufffd")  # PostgreSQL cannot store the null character


SOURCE_MAP_COLUMNS: dict[str, type] = {
    "source_code": str,
    "source_concept_id": int,
    "source_vocabulary_id": str,
    "source_code_description": str,
    "target_concept_id": int,
    "target_vocabulary_id": str,
    "valid_start_date": str,
    "valid_end_date": str,
    "invalid_reason": str,
}
SOURCE_VOCABULARY = "ONYM_TERMS"
"""Default vocabulary_id of the source codes."""
UNKNOWN = "not in OMOP"
"""Key of the count of terms whose answer has no standard concept."""
NO_VOCABULARY = "None"  # vocabulary_id of OMOP's concept 0 (no matching concept)
_START, _END = "1970-01-01", "2099-12-31"
_CODE, _DESCRIPTION, _DIGEST = 50, 255, 8  # maximum code and description length; digest length in cut codes


@dataclass(frozen=True)
class SourceMap:
    """Settings of source_to_concept_map: vocabulary and column of the source codes, and OMOP concepts."""

    concepts: OmopConcepts
    source_vocabulary: str = SOURCE_VOCABULARY
    code_column: int | None = None
    vocabularies: Vocabularies = field(default_factory=Vocabularies)


def check_terms(path: Path, options: ExportOptions) -> None:  # noqa: ARG001 - of the protocol
    """Raise ConfigError if options are invalid for source_to_concept_map, or if required options are missing."""
    _check_vocabularies(options)
    if options.source_system:
        require_vocabulary_id(options.source_system)
    if options.fhir_version:
        raise ConfigError("config-invalid", "--fhir-version applies only to .fhir.json", fix="drop it")
    if options.omop_vocabulary is None:
        fix = f"give the folder of an Athena download (with {CONCEPTS}) as --omop-vocabulary FOLDER"
        raise ConfigError("omop-concepts", "source_to_concept_map requires OMOP concept ids", fix=fix)


def write_terms(mappings: Iterable[TermMapping], file: BinaryIO, context: TermContext) -> None:
    """Write mappings as `source_to_concept_map`."""
    options, order = context.options, context.pipeline.kb.order
    named = options.source_system or SOURCE_VOCABULARY
    table = SourceMap(site_concepts(options, order.vocabularies), named, context.code_column, options.vocabularies)
    write_source_map(mappings, table, context.counts, file)


def write_source_map(mappings: Iterable[TermMapping], table: SourceMap, counts: Counter[str], file: BinaryIO) -> None:
    """Write the table as CSV for a database, and count terms whose answer has no standard concept."""
    write_plain_csv(source_map_rows(mappings, table, counts), SOURCE_MAP_COLUMNS, file)


def source_map_rows(mappings: Iterable[TermMapping], table: SourceMap, counts: Counter[str]) -> Iterator[list[Any]]:
    """Yield the rows, one per code and standard concept, by first occurrence. Codes without a concept get the id 0."""
    targets: dict[str, dict[StandardConcept, None]] = {}
    descriptions: dict[str, str] = {}
    counts[UNKNOWN] += 0
    for mapping in mappings:
        code = short_code(mapping.cells[table.code_column] if table.code_column is not None else mapping.term)
        if not mapping.term or not code:
            continue
        found = _standard(mapping, table)
        counts[UNKNOWN] += bool(mapping.answer and not found)
        targets.setdefault(code, {}).update(dict.fromkeys(found))
        descriptions.setdefault(code, mapping.term[:_DESCRIPTION].replace("\x00", "\ufffd"))
    for code, found_all in targets.items():
        for target in found_all or (StandardConcept(NO_CONCEPT, NO_VOCABULARY),):
            yield [
                code,
                NO_CONCEPT,
                table.source_vocabulary,
                descriptions[code],
                target.id,
                target.vocabulary,
                _START,
                _END,
                None,
            ]


def short_code(text: str) -> str:
    """Return a text as a source_code of at most 50 characters; a longer text is cut and ends with a digest.

    >>> short_code(" heart  attack ")
    'heart attack'
    >>> short_code("carcinoma " * 9)
    'carcinoma carcinoma carcinoma carcinoma c~b68f761f'
    """
    code = " ".join(text.replace("\x00", "\ufffd").split())
    if len(code) <= _CODE:
        return code
    digest = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{code[: _CODE - _DIGEST - 1]}~{digest}"


def _standard(mapping: TermMapping, table: SourceMap) -> tuple[StandardConcept, ...]:
    found = table.concepts.find(*table.vocabularies.omop(mapping.answer.concept_id)) if mapping.answer else None
    return found.standard if found else ()
