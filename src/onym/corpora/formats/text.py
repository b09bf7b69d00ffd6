"""Plain text: one document per file, with the file name as its id. The text is kept unchanged, including line ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onym.corpora.base import Facet, Item, Output, Style
from onym.corpora.formats._files import FileNames, any_looks, file_name, id_of_file, whole_text
from onym.store.files.source import InputFile, Source
from onym.types import Document

HOLDS: frozenset[Facet] = frozenset({"document ids", "text"})
IS_FOLDER = True
MAY_BE_CP1252 = True


def matches(source: Source) -> bool:
    """Return whether a file name ends in .txt."""
    return any_looks(source, lambda file: file.stem.endswith(".txt"))


def read(source: Source) -> Iterator[Item]:
    """Yield a document for each file."""
    return (Document(id_of_file(file), whole_text(file)) for file in source.files)


def preserved_facets(document: Document) -> frozenset[Facet]:
    """Return the facets that survive writing. A document id is lost if it is too long for a file name."""
    stem = file_name(document.id)
    is_kept = id_of_file(InputFile.from_bytes(f"{stem}.txt", b"")) == document.id
    return HOLDS if is_kept else HOLDS - {"document ids"}


def write(documents: Iterable[Document], output: Output, style: Style = "") -> None:  # noqa: ARG001 - of the protocol
    """Write a file for each document."""
    names = FileNames()
    for document in documents:
        with output.file(f"{names.of(document.id)}.txt") as file:
            file.write(document.text.encode())
