"""A release reader for .pairs files, with lines of the form `id => name`."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from onym.kb.readers import table
from onym.store.files.source import InputFile, Source


def matches(source: Source) -> bool:
    """Return whether the source has .pairs files."""
    return bool(source.matching("*.pairs"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield the statements of every file."""
    for file in source.matching("*.pairs"):
        with file.open() as stream:
            rows = [line.split(" => ") for line in stream.read().decode().splitlines()]
        text = "id\tname\n" + "".join(f"{concept_id}\t{name}\n" for concept_id, name in rows)
        made = InputFile.from_bytes("pairs.tsv", text.encode())
        yield from table.read(Source.of_files("pairs", [made]))
