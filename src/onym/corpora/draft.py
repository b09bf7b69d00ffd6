"""A document being read: every mention is compared with the text before it is taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onym.corpora.base import Item
from onym.errors import OnymError
from onym.store.files.lines import Line
from onym.types import Document, Mention, Notes, Offsets, Passage, Problem, Relation

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
