"""The interface of corpus formats, and helpers to build documents and report problems while reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import BinaryIO, Literal, NamedTuple, Protocol, get_args

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
"""A part of a document that some formats cannot store."""
ALL: frozenset[Facet] = frozenset(get_args(Facet))

Style = IdStyle | Literal[""]
"""How a writer formats concept ids; empty means as in the source, or else as usual in the format."""


PART_OF = "part of"
"""The key of the note shared by mentions that were split from one composite mention."""


Item = Document | Problem
DELETED = "document-deleted"
"""The problem code of a document that an update file deletes; it does not count as a loss."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files are read. Empty values are decided for each file: columns by their names, the encoding by the bytes.

    `text_columns` and `id_column` are for tables and JSON, `encoding` for text files that are not UTF-8.
    """

    text_columns: tuple[str, ...] = ()
    id_column: str = ""
    encoding: str = ""


NO_OPTIONS = ReadOptions()


class Segment(NamedTuple):
    """A part of a file: the bytes of a document, or of what is between two documents."""

    is_document: bool
    data: bytes


class Output(Protocol):
    """The destination of a writer: one file, or several in a folder."""

    def file(self, name: str = "") -> AbstractContextManager[BinaryIO]:
        """Open a file for writing; the name is ignored if the output is a single file."""


class Format(Protocol):
    """The interface of a module in `corpora/formats`. Further members are optional.

    `EXTENSIONS` lists file name extensions that identify the format without reading the file. `groups(source)` is for formats
    whose documents consist of several files: it returns tuples of files that belong together. The name of the first file
    becomes the `source` of the documents. `iter_segments(file)` yields the `Segment`s of a file, with one document for each
    that the reader yields, in the same order; in a group of files, the last one has the annotations.

    `read_with(source, options)` is for formats with columns or keys, and `resolve(file, options)` returns the options with the
    columns of a file. `DECODES` is True for formats that decode the bytes themselves; all others get UTF-8. `MAY_BE_CP1252` is
    True for formats that people write, whose files may be in Windows-1252.
    """

    HOLDS: frozenset[Facet]
    IS_FOLDER: bool

    def matches(self, source: Source) -> bool:
        """Return whether a file has this format, by its name and first bytes. `source` contains only its first 16 KiB."""

    def read(self, source: Source) -> Iterator[Item]:
        """Yield the documents and problems of one file or one group of files, in order."""

    def preserved_facets(self, document: Document) -> frozenset[Facet]:
        """Return the facets (parts of a document) that are unchanged after writing this document and reading it back."""

    def write(self, documents: Iterable[Document], output: Output, style: Style = "") -> None:
        """Write documents, dropping the facets that the format cannot store."""


def preserve_all(document: Document) -> frozenset[Facet]:  # noqa: ARG001 - of the protocol
    """Return all facets; for formats that can store every part of a document.

    >>> preserve_all(Document("1", "fever")) == ALL
    True
    """
    return ALL


def documents_of(items: Iterable[Item]) -> Iterator[Document]:
    """Yield only the documents, without the problems.

    >>> list(documents_of([Problem("1", "corpus-offsets", "a surface is not at its offsets"), Document("2", "fever")]))
    [<Document 2: 5 code points, 0 mentions>]
    """
    return (item for item in iter_items(items) if isinstance(item, Document))


def iter_items(items: Iterable[object]) -> Iterator[Item]:
    """Yield documents and problems, and raise on any other type.

    >>> len(list(iter_items([Document("1", "fever")])))
    1
    """
    return iter_checked(items, Document, Problem)


_MARKED = 1_000_000  # characters; the total length of a document's mentions may be this plus four times its text


class MalformedError(ValueError):
    """Raised for a document that cannot be read; readers turn it into a problem and continue with the next document."""

    def __init__(self, what: str, where: str = "", document_id: str = "", code: str = "corpus-malformed") -> None:
        super().__init__(what)
        self.what, self.where, self.document_id, self.code = what, where, document_id, code

    @classmethod
    def of(cls, error: OnymError) -> MalformedError:
        """Convert an error about a line or an item to an error about the document that contains it."""
        return cls(error.what, error.where, code=error.code)

    def problem(self, document_id: str = "") -> Problem:
        """Return this error as a problem of the document, to be reported by the reader."""
        return Problem(self.document_id or document_id, self.code, self.what, self.where)


def require_good(lines: Iterable[Line]) -> None:
    """Raise MalformedError if one of a document's lines has an error."""
    for line in lines:
        if line.error:
            raise MalformedError.of(line.error)


class Draft:
    """A document under construction. Each invalid mention becomes a problem.

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
        """Add a mention, or a problem if its offsets are outside the text or `surface` differs from the text at them."""
        self.require_short(((start, end), *parts), where)
        found = self.text[start:end] if 0 <= start < end <= len(self.text) else ""
        fits = all(start <= first < last <= end for first, last in parts)
        if not found or not fits or not (surface is None or surface == found or self._is_joined(surface, parts)):
            what = "a mention lies outside the text" if not found or not fits else "a surface is not the text at its offsets"
            self.problems.append(Problem(self.id, "corpus-offsets", f"{what}, {start} to {end}", where))
            return
        self.mentions.append(Mention(start, end, found, concept_ids, type, id, parts, notes))

    def require_short(self, spans: Iterable[Offsets], where: str) -> None:
        """Raise MalformedError if all spans together are far longer than the text, because they would take too much memory."""
        size = len(self.text)
        self._marked += sum(min(end, size) - max(start, 0) for start, end in spans if start < end)
        if self._marked > _MARKED + 4 * size:
            raise MalformedError("the mentions together are far longer than the text", where, self.id)

    def _is_joined(self, surface: str, parts: tuple[Offsets, ...]) -> bool:
        """Return whether the surface equals the joined fragments of a discontinuous mention, ignoring whitespace."""
        fragments = "".join(self.text[start:end] for start, end in parts)
        return bool(parts) and "".join(surface.split()) == "".join(fragments.split())

    def items(self) -> Iterator[Item]:
        """Yield the problems, then the document."""
        yield from self.problems
        yield Document(self.id, self.text, tuple(self.mentions), tuple(self.passages), tuple(self.relations), self.notes)
