"""What every format offers, and what reading may yield besides documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO, Literal, Protocol, get_args

from onym.errors import OnymError
from onym.store.files.lines import Line
from onym.store.files.source import Source
from onym.types import Document, IdStyle, Mention, Notes, Offsets, Passage, Problem, Relation, iter_checked

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


_MARKED = 1_000_000  # characters that the mentions of any text may have together


class MalformedError(ValueError):
    """A document cannot be read. It becomes a problem, and the next document is read."""

    def __init__(self, what: str, where: str = "", document_id: str = "", code: str = "corpus-malformed") -> None:
        super().__init__(what)
        self.what, self.where, self.document_id, self.code = what, where, document_id, code

    @classmethod
    def of(cls, error: OnymError) -> MalformedError:
        """Return an error of a line or an item as that of its document."""
        return cls(error.what, error.where, code=error.code)

    def problem(self, document_id: str = "") -> Problem:
        """Return what is told of the document."""
        return Problem(self.document_id or document_id, self.code, self.what, self.where)


def require_good(lines: Iterable[Line]) -> None:
    """Refuse the lines of a document if one of them is bad."""
    for line in lines:
        if line.error:
            raise MalformedError.of(line.error)


class Draft:
    """A document's parts as they are found.

    >>> draft = Draft("1", "high fever")
    >>> draft.add(5, 10, "fever")
    >>> draft.add(0, 5, "fever")
    >>> [type(item).__name__ for item in draft.items()]
    ['Problem', 'Document']
    """

    def __init__(self, document_id: str, text: str, notes: Notes = ()) -> None:
        self.id, self.text, self.notes = document_id, text, notes
        self.mentions: list[Mention] = []
        self.passages: list[Passage] = []
        self.relations: list[Relation] = []
        self.problems: list[Problem] = []
        self._marked = 0

    def add(
        self,
        start: int,
        end: int,
        surface: str | None = None,
        *,
        concept_ids: tuple[str, ...] = (),
        type: str = "",  # noqa: A002 - the field's own name
        id: str = "",  # noqa: A002
        parts: tuple[Offsets, ...] = (),
        notes: Notes = (),
        where: str = "",
    ) -> None:
        """Take a mention if it stands in the text; `surface` is what the file says that it is."""
        self.require_short(((start, end), *parts), where)
        found = self.text[start:end] if 0 <= start < end <= len(self.text) else ""
        fits = all(start <= first < last <= end for first, last in parts)
        if not found or not fits or not (surface is None or surface == found or self._is_joined(surface, parts)):
            what = "a mention lies outside the text" if not found or not fits else "a surface is not the text at its offsets"
            self.problems.append(Problem(self.id, "corpus-offsets", f"{what}, {start} to {end}", where))
            return
        self.mentions.append(Mention(start, end, found, concept_ids, type, id, parts, notes))

    def require_short(self, spans: Iterable[Offsets], where: str) -> None:
        """Refuse spans that copy far more of the text than it has."""
        size = len(self.text)
        self._marked += sum(min(end, size) - max(start, 0) for start, end in spans if start < end)
        if self._marked > _MARKED + 4 * size:
            raise MalformedError("its mentions are far longer together than its text", where, self.id)

    def _is_joined(self, surface: str, parts: tuple[Offsets, ...]) -> bool:
        """Tell whether a surface is that of a discontinuous mention: its fragments, whatever stands between them."""
        fragments = "".join(self.text[start:end] for start, end in parts)
        return bool(parts) and "".join(surface.split()) == "".join(fragments.split())

    def items(self) -> Iterator[Item]:
        """Yield the problems, then the document."""
        yield from self.problems
        yield Document(self.id, self.text, tuple(self.mentions), tuple(self.passages), tuple(self.relations), self.notes)
