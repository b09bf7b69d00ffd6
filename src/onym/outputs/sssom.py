"""SSSOM export (Simple Standard for Sharing Ontological Mappings): one row per mapped term, the answer.

With `top_k`, there is a row for each of the best candidates.
"""

from __future__ import annotations

import codecs
import csv
import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from onym._version import __version__
from onym.kb import KnowledgeBase
from onym.outputs.base import TermContext
from onym.outputs.terms import TermMapping, display_name
from onym.pipeline.pipeline import Pipeline
from onym.store.files.lines import iter_blocks
from onym.store.files.source import InputFile
from onym.text.normal import normal_name
from onym.types import Candidate

ENDING = ".sssom.tsv"
TERM_ENDINGS = (ENDING,)
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
_NAMESPACES = {  # prefixes of predicates, which have other addresses than the ids of vocabularies
    "IAO": "http://purl.obolibrary.org/obo/IAO_",
    "oboInOwl": "http://www.geneontology.org/formats/oboInOwl#",
}
_MEASURES = {"tfidf": "cosine of character 3-gram TF-IDF"}


def write_terms(mappings: Iterable[TermMapping], file: BinaryIO, context: TermContext) -> None:
    """Write the answer of each term, or with `context.top_k` its best candidates; other terms have no row."""
    pipeline = context.pipeline
    rows = [
        _row(mapping, candidate, pipeline)
        for mapping in mappings
        for candidate in (mapping.candidates[: context.top_k] if context.top_k else filter(None, [mapping.answer]))
    ]
    content = json.dumps([pipeline.linker.config, pipeline.kb.digest, rows])
    facts = [f'object_source_version: "{pipeline.kb.digest}"', f'comment: "linker {pipeline.linker.config["linker"]}"']
    write_sssom(file, COLUMNS, rows, content, facts)


def write_sssom(
    file: BinaryIO, columns: Sequence[str], rows: Sequence[Sequence[str]], content: str, facts: Iterable[str] = ()
) -> None:
    """Write an SSSOM table: a header of `facts`, with an id of the mapping set made from `content`, and the rows."""
    text = codecs.getwriter("utf-8")(file)  # unlike io.TextIOWrapper, this wrapper does not close the file
    ids = [at for at, name in enumerate(columns) if name in ("subject_id", "object_id")]
    used = {row[at].partition(":")[0] for row in rows for at in ids}
    if "predicate_id" in columns:
        used |= {row[columns.index("predicate_id")].partition(":")[0] for row in rows} & _NAMESPACES.keys()
    prefixes = sorted(used)
    text.writelines(f"#{line}\n" for line in _head(content, facts, prefixes))
    writer = csv.writer(text, dialect="excel-tab", lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def _head(content: str, facts: Iterable[str], prefixes: Iterable[str]) -> Iterable[str]:
    yield f"mapping_set_id: urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}"
    yield "license: https://w3id.org/sssom/license/unspecified"
    yield "mapping_tool: onym"
    yield f'mapping_tool_version: "{__version__}"'
    yield from facts
    yield "curie_map:"
    for prefix in prefixes:
        yield f'  {prefix}: "{_NAMESPACES.get(prefix, f"https://bioregistry.io/{prefix}:")}"'


def is_sssom(path: Path | str) -> bool:
    """Return whether a file is an SSSOM mapping set, by its name."""
    return str(path).endswith(ENDING)


def read_sssom(path: Path) -> Iterator[dict[str, str]]:
    """Yield the mappings of an SSSOM table by column; an empty or missing cell is an empty string.

    >>> path = getfixture("tmp_path") / "a.sssom.tsv"
    >>> _ = path.write_text("#license: none\\nsubject_label\\tobject_id\\nfever\\tmesh:D005334\\n")
    >>> list(read_sssom(path))
    [{'subject_label': 'fever', 'object_id': 'mesh:D005334'}]
    """
    lines = (line for block in iter_blocks(InputFile.from_path(path)) for line in block.data.decode().split("\n")[:-1])
    rows = csv.DictReader((line for line in lines if not line.startswith("#")), dialect="excel-tab", restval="")
    for row in rows:
        yield {name: cell for name, cell in row.items() if name is not None}


def _row(mapping: TermMapping, candidate: Candidate, pipeline: Pipeline) -> tuple[str, ...]:
    is_name = normal_name(candidate.name) == normal_name(mapping.term)
    return (
        mapping.term,
        "rdfs literal",
        "skos:exactMatch" if mapping.is_exact and candidate is mapping.answer else "skos:closeMatch",
        candidate.concept_id,
        display_name(candidate, pipeline.kb),
        "semapv:LexicalMatching" if is_name else "semapv:LexicalSimilarityThresholdMatching",
        "skos:prefLabel" if _is_preferred(candidate, pipeline.kb) else "skos:altLabel",
        candidate.name,
        "1.0" if is_name else f"{candidate.score:.6f}",
        "equality of normalised names" if is_name else _MEASURES.get(pipeline.linker.config["linker"], "the linker's score"),
        f"{mapping.confidence:.3f}" if mapping.confidence is not None and candidate is mapping.candidates[0] else "",
    )


def _is_preferred(candidate: Candidate, kb: KnowledgeBase) -> bool:
    return normal_name(display_name(candidate, kb)) == normal_name(candidate.name)
