"""Readers of terminology releases, one module per format. All yield Arrow batches of one schema, without filtering.

A reader module has `matches(source)`, which checks file names and first bytes, and `read(source)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from onym.errors import ConfigError
from onym.registry import READERS
from onym.store.files.source import Source


def detect(source: Source) -> str:
    """Detect the format of a release.

    >>> from onym.store.files.source import InputFile
    >>> detect(Source.of_files("hp", [InputFile.from_bytes("hp.obo", b"")]))
    'obo'
    """
    for name in READERS.names_in_order:
        if READERS.load(name).matches(source):
            return name
    fix = f"give the format with --format, one of {', '.join(READERS.names)}"
    raise ConfigError("format-unknown", "the format is not recognised", where=source.name, fix=fix)


def read(
    source: Source,
    format_name: str,
    columns: Mapping[str, str] | None = None,
    prefix: str = "",
    species: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a release in the given format; the options only apply to readers with a `Config`."""
    reader: Any = READERS.load(format_name)
    if hasattr(reader, "Config"):
        options = {"columns": dict(columns) if columns else None, "prefix": prefix or None, "species": tuple(species) or None}
        return reader.read(source, reader.Config.from_options(options))  # type: ignore[no-any-return]
    if species:
        fix = "leave out species, or give it in a recipe to the release of genes only"
        raise ConfigError("config-invalid", f"species is not an option of {format_name}", where=source.name, fix=fix)
    return reader.read(source)  # type: ignore[no-any-return]
