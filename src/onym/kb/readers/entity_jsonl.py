"""Reader of scispaCy's entities: JSON lines or a JSON list, with concept_id, canonical_name, aliases, types, definition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from onym.kb.curie import to_curie
from onym.kb.readers._shared import head, matching_files, require_object, shape_error, string, strings
from onym.kb.schema import Rows
from onym.store.files.json import first_byte, iter_items, parse_line
from onym.store.files.lines import iter_blocks
from onym.store.files.source import InputFile, Source
from onym.types import NameKind


def matches(source: Source) -> bool:
    """Return whether a JSON file begins with an entity."""
    return any(_is_entities(file) for file in _files(source))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names, types and definitions; ids without a prefix are UMLS CUIs."""
    rows = Rows(source.name)
    for file in matching_files(_files(source), _is_entities):
        for entity in _entities(file):
            _add(rows, require_object(entity, file), file)
            yield from rows.full()
    yield from rows.rest()


def _files(source: Source) -> list[InputFile]:
    return source.matching("*.jsonl") + source.matching("*.json")


def _is_entities(file: InputFile) -> bool:
    return b'"canonical_name"' in head(file)


def _entities(file: InputFile) -> Iterator[Any]:
    if first_byte(file) == "[":
        yield from iter_items(file, "item")
        return
    for block in iter_blocks(file):
        for number, line in enumerate(block.data.splitlines(), block.first_line):
            if line.strip():
                yield parse_line(line, f"{file.name}:{number}", file.limits)


def _add(rows: Rows, entity: dict[str, Any], file: InputFile) -> None:
    identifier, name = string(entity, "concept_id", file), string(entity, "canonical_name", file)
    if not identifier or not name:
        raise shape_error("an entity has no concept_id or no canonical_name", file)
    concept_id = to_curie(identifier, "umls")
    rows.add(concept_id, name=name, kind=NameKind.PREFERRED)
    for alias in strings(entity, "aliases", file):
        rows.add(concept_id, name=alias, kind=NameKind.EXACT)
    if types := strings(entity, "types", file):
        rows.add(concept_id, semantic_types=types)
    if definition := string(entity, "definition", file):
        rows.add(concept_id, definition=definition)
    if xrefs := strings(entity, "xrefs", file):
        rows.add(concept_id, xrefs=[to_curie(xref) for xref in xrefs])
