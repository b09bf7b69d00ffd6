"""Reader of GenBioEL's and ANGEL's target_kb.json: an object that maps each id to a list of names."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from onym.kb.curie import to_curie
from onym.kb.readers._shared import head, matching_files, strings
from onym.kb.schema import Rows
from onym.store.files.json import iter_pairs
from onym.store.files.source import InputFile, Source
from onym.types import NameKind

_BEGIN = re.compile(rb'\{\s*(?:\}|"(?:[^"\\]|\\.)*+"\s*:\s*\[\s*["\]])')
_BARE = ((re.compile(r"C[0-9]{7}"), "umls"), (re.compile(r"[0-9]{6}"), "omim"), (re.compile(r"[0-9]{7,18}"), "snomedct"))


def matches(source: Source) -> bool:
    """Return whether a JSON file maps keys to lists."""
    return any(_is_target_kb(file) for file in source.matching("*.json"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names; ids without a prefix are UMLS CUIs, OMIM (six digits), SNOMED CT (more digits) or else MeSH ids."""
    rows = Rows(source.name)
    for file in matching_files(source.matching("*.json"), _is_target_kb):
        for key, value in iter_pairs(file):
            concept_id = to_curie(key, _prefix(key))
            for name in strings({"names": value}, "names", file):
                rows.add(concept_id, name=name, kind=NameKind.EXACT)
            yield from rows.full()
    yield from rows.rest()


def _is_target_kb(file: InputFile) -> bool:
    return _BEGIN.match(head(file)) is not None


def _prefix(key: str) -> str:
    return next((prefix for pattern, prefix in _BARE if pattern.fullmatch(key)), "mesh")
