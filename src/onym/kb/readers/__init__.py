"""Readers of terminology releases, one file per format. Each yields Arrow batches of one schema and decides nothing.

A reader module has `matches(source)`, which looks at names and first bytes, and `read(source)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType

import pyarrow as pa

from onym.errors import ConfigError
from onym.store.files.source import Source

# In the order in which a release is tried: the most particular first.
FORMATS = (
    "umls", "snomed", "mesh_xml", "mesh_ascii", "ctd", "obo", "obograph", "entity_jsonl", "ontology_json", "genbioel",
    "mesh_table", "biosyn", "table",
)  # fmt: skip


def detect(source: Source) -> str:
    """Return the format of a release.

    >>> from onym.store.files.source import InputFile
    >>> detect(Source.of_files("hp", [InputFile.from_bytes("hp.obo", b"")]))
    'obo'
    """
    for name in FORMATS:
        if _module(name).matches(source):
            return name
    fix = f"name the format; known are {', '.join(FORMATS)}"
    raise ConfigError("format-unknown", "the format is not recognised", where=source.name, fix=fix)


def read(
    source: Source, format_name: str, columns: Mapping[str, str] | None = None, prefix: str = ""
) -> Iterator[pa.RecordBatch]:
    """Yield the statements of a release in the given format; `columns` and `prefix` are for tables alone."""
    if format_name == "table":
        return _module("table").read(source, dict(columns or {}), prefix)  # type: ignore[no-any-return]
    return _module(format_name).read(source)  # type: ignore[no-any-return]


def _module(name: str) -> ModuleType:
    if name not in FORMATS:
        raise ConfigError("format-unknown", f"no format named {name!r}", fix=f"known are {', '.join(FORMATS)}")
    return import_module(f"onym.kb.readers.{name}")
