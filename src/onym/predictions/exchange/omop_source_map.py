"""OMOP's table `source_to_concept_map` (CDM 5.4): a row for each code and standard concept; without a concept it is 0.

The days of validity are those that OHDSI's Usagi writes: from 1970 to 2099.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from onym.predictions.exchange.omop_concepts import NO_CONCEPT, OmopConcepts, StandardConcept
from onym.predictions.exchange.vocabularies import Vocabularies
from onym.predictions.mapping.terms import TermMapping
from onym.predictions.rows import write_plain_csv

COLUMNS: dict[str, type] = {
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
"""The vocabulary of codes that have no other."""
UNKNOWN = "not in OMOP"
"""What is counted: terms with an answer whose code leads to no standard concept."""
NO_VOCABULARY = "None"  # of OMOP's concept 0
_START, _END = "1970-01-01", "2099-12-31"
_CODE, _DESCRIPTION, _DIGEST = 50, 255, 8  # characters of the columns, and of what tells long codes apart


@dataclass(frozen=True)
class SourceMap:
    """What rows have besides mappings: the vocabulary of the codes, their column, and ids of concepts."""

    concepts: OmopConcepts
    source_vocabulary: str = SOURCE_VOCABULARY
    code_column: int | None = None
    vocabularies: Vocabularies = field(default_factory=Vocabularies)


def write_source_map(mappings: Iterable[TermMapping], table: SourceMap, counts: Counter[str], file: BinaryIO) -> None:
    """Write the table as CSV for a database, and count the terms whose answer has no standard concept."""
    write_plain_csv(source_map_rows(mappings, table, counts), COLUMNS, file)


def source_map_rows(mappings: Iterable[TermMapping], table: SourceMap, counts: Counter[str]) -> Iterator[list[Any]]:
    """Yield the rows, in the order in which codes come first; a code without any standard concept has one row."""
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
    """Return a text as a source_code: at most 50 characters, the end of a longer one being a digest of all of it.

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
