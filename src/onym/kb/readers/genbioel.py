"""GenBioEL's and ANGEL's target_kb.json: an object from id to a list of names."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from onym.kb.curie import to_curie
from onym.kb.readers._json import strings
from onym.kb.schema import Rows
from onym.store.json import iter_pairs
from onym.store.source import InputFile, Source
from onym.types import NameKind


def matches(source: Source) -> bool:
    """Tell whether a JSON file maps keys to lists."""
    return any(_is_target_kb(file) for file in source.matching("*.json"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names as they stand; a bare id is MeSH's if it looks so, else UMLS's."""
    rows = Rows()
    for file in source.matching("*.json"):
        for key, value in iter_pairs(file):
            concept_id = to_curie(key, "umls" if key[:1] == "C" and len(key) == 8 else "mesh")
            for name in strings({"names": value}, "names", file):
                rows.add(concept_id, name=name, kind=NameKind.EXACT)
            yield from rows.full()
    yield from rows.rest()


def _is_target_kb(file: InputFile) -> bool:
    with file.open() as stream:
        head = b"".join(stream.read(4096).split())
    return head.startswith(b"{") and head.partition(b":")[2][:1] in (b"[", b"") and b'"graphs"' not in head
