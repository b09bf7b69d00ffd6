"""The `note_id` of documents: their own id where that is a whole number, else a number with a line in a file of keys."""

from __future__ import annotations

from typing import BinaryIO

from onym.errors import InputError, shown_id
from onym.predictions.rows import write_plain_csv
from onym.types import Document

COLUMNS: dict[str, type] = {"note_id": int, "document": str, "source": str, "ordinal": int}
"""What a line of keys has: the number, and the id, file and ordinal of the document."""
_LIMIT = 2**31
_FIX = "let the documents have the note_id of OMOP's table note as their id, or number them: --note-keys FILE"


class NoteIds:
    """Gives documents their note_id; with a file of `keys` they are numbered from 1.

    >>> NoteIds().of(Document("4711", "fever"))
    4711
    >>> NoteIds().of(Document("ward 7", "fever"))
    Traceback (most recent call last):
    onym.errors.InputError: [omop-note-id] the id of a document is no note_id...
    """

    def __init__(self, keys: BinaryIO | None = None) -> None:
        self._keys = keys
        self._seen: set[int] = set()
        self._count = 0
        if keys is not None:
            write_plain_csv([], COLUMNS, keys)

    def of(self, doc: Document) -> int:
        """Return the note_id of a document: to be called once for each, in their order."""
        if self._keys is not None:
            self._count += 1
            row = (self._count, doc.id, doc.source, doc.ordinal)
            write_plain_csv([row], COLUMNS, self._keys, header=False)
            return self._count
        number = _note_id(doc)
        if number in self._seen:
            raise InputError("omop-note-id", "two documents have the same note_id", where=_where(doc), fix=_FIX)
        self._seen.add(number)
        return number


def _note_id(doc: Document) -> int:
    if not doc.id.isascii() or not doc.id.isdecimal() or int(doc.id) >= _LIMIT:
        raise InputError("omop-note-id", "the id of a document is no note_id", where=_where(doc), fix=_FIX)
    return int(doc.id)


def _where(doc: Document) -> str:
    return f"document {shown_id(doc.id)}" + (f" ({doc.source}, {doc.ordinal})" if doc.ordinal else "")
