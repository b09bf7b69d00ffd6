"""A corpus format for .shout files: one document per line, between exclamation marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onym.corpora.base import Facet, Item, Output, Style
from onym.store.files.source import Source
from onym.types import Document

HOLDS: frozenset[Facet] = frozenset({"text"})
IS_FOLDER = False


def matches(source: Source) -> bool:
    """Return whether the source has .shout files."""
    return bool(source.matching("*.shout"))


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets of a document that the format preserves."""
    return HOLDS


def read(source: Source) -> Iterator[Item]:
    """Yield the documents of every file."""
    for file in source.files:
        with file.open() as stream:
            for number, line in enumerate(stream.read().decode().splitlines(), 1):
                yield Document(str(number), line.strip("!"))


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:
    """Write a line for each document."""
    with output.file() as file:
        for document in documents:
            file.write(f"!{document.text}!\n".encode())
