"""What every format offers, and what reading may yield besides documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO, Literal, Protocol, get_args

from onym.store.files.source import Source
from onym.types import Document, Problem, iter_checked
from onym.views import IdStyle

Facet = Literal[
    "document ids",
    "text",
    "passages",
    "mentions",
    "types",
    "concept ids",
    "composites",
    "discontinuous",
    "relations",
    "mention ids",
    "notes",
]
"""What a document may hold and a format may not."""
ALL: frozenset[Facet] = frozenset(get_args(Facet))

Style = IdStyle | Literal[""]
"""How a writer shows concept ids; the empty one is as the source wrote them, or as the format usually does."""


PART_OF = "part of"
"""The note that the parts of one composite mention share, where a preparation cut it into mentions of their own."""


Item = Document | Problem
DELETED = "document-deleted"
"""The code by which an update file says that a document of an earlier file is gone: it costs nothing."""


class Output(Protocol):
    """Where a writer puts its files: one file, or several in one folder."""

    def file(self, name: str = "") -> AbstractContextManager[BinaryIO]:
        """Open the file of that name for writing; the one file, where there is only one."""


class Format(Protocol):
    """A module of `corpora/formats` is one of these. Two more things are optional.

    `EXTENSIONS` are endings of file names that mean this format, whatever the file holds. `groups(source)` returns tuples of
    files that belong together, for a format of several files; the first file of a group is the `source` of its documents.
    """

    HOLDS: frozenset[Facet]
    IS_FOLDER: bool

    def matches(self, source: Source) -> bool:
        """Tell by its name and beginning whether a file is of this format. The source has that file alone, cut after 16 KiB."""

    def read(self, source: Source) -> Iterator[Item]:
        """Yield the documents of all files in order, and problems where they are found. One file or one group is given."""

    def preserved_facets(self, document: Document) -> frozenset[Facet]:
        """Return the facets of this document that come back unchanged when it is written and read again."""

    def write(self, documents: Iterable[Document], output: Output, style: Style = "") -> None:
        """Write documents; what the format does not hold is left out."""


def preserve_all(document: Document) -> frozenset[Facet]:  # noqa: ARG001 - of the protocol
    """Return all facets: the `preserved_facets` of a format that loses nothing.

    >>> preserve_all(Document("1", "fever")) == ALL
    True
    """
    return ALL


def documents_of(items: Iterable[Item]) -> Iterator[Document]:
    """Yield the documents alone.

    >>> list(documents_of([Problem("1", "corpus-offsets", "a surface is not at its offsets"), Document("2", "fever")]))
    [<Document 2: 5 code points, 0 mentions>]
    """
    return (item for item in iter_items(items) if isinstance(item, Document))


def iter_items(items: Iterable[object]) -> Iterator[Item]:
    """Yield documents and problems, refusing anything else.

    >>> len(list(iter_items([Document("1", "fever")])))
    1
    """
    return iter_checked(items, Document, Problem)
