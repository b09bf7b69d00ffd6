"""A format of corpora: a document a line, between exclamation marks, in files that end with .shout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onym.corpora.base import Facet, Item, Output, Style
from onym.store.files.source import Source
from onym.types import Document

HOLDS: frozenset[Facet] = frozenset({"text"})
IS_FOLDER = False


def matches(source: Source) -> bool:
    """Tell by the names of the files."""
    return bool(source.matching("*.shout"))


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return what a document keeps."""
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
