"""SSSOM export (Simple Standard for Sharing Ontological Mappings): one row per candidate of each mapped term."""

from __future__ import annotations

import codecs
import csv
import json
import uuid
from collections.abc import Iterable
from typing import BinaryIO

from onym._version import __version__
from onym.kb import KnowledgeBase
from onym.linkers.base import AnswerSource
from onym.outputs.base import TermContext
from onym.outputs.terms import TermMapping, display_name
from onym.text.normal import normal_name
from onym.types import Candidate

TERM_ENDINGS = (".sssom.tsv",)
COLUMNS = (
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


def write_terms(mappings: Iterable[TermMapping], file: BinaryIO, context: TermContext) -> None:
    """Write one row per candidate; terms without candidates have no row."""
    linker = context.linker
    rows = [_row(mapping, candidate, linker) for mapping in mappings for candidate in mapping.candidates]
    text = codecs.getwriter("utf-8")(file)  # unlike io.TextIOWrapper, this wrapper does not close the file
    text.writelines(f"#{line}\n" for line in _head(linker, rows))
    writer = csv.writer(text, dialect="excel-tab", lineterminator="\n")
    writer.writerow(COLUMNS)
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
        display_name(candidate, linker.kb),
        "semapv:LexicalMatching" if is_name else "semapv:LexicalSimilarityThresholdMatching",
        "skos:prefLabel" if _is_preferred(candidate, linker.kb) else "skos:altLabel",
        candidate.name,
        "1.0" if is_name else f"{candidate.score:.6f}",
        "equality of normalised names" if is_name else _MEASURES.get(str(linker.config["linker"]), "the linker's score"),
        f"{mapping.confidence:.3f}" if mapping.confidence is not None and candidate is mapping.candidates[0] else "",
    )


def _is_preferred(candidate: Candidate, kb: KnowledgeBase) -> bool:
    return normal_name(display_name(candidate, kb)) == candidate.name
