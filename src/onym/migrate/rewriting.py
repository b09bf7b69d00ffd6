"""Rewrites the bytes of documents with new ids, and reads the result again.

A document is first patched: its ids are replaced in its bytes. If reading that gives anything but the migrated document (as
when its text has the same id, or two mentions with one id got different ones), the format's writer writes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from onym.corpora.base import Format, Item
from onym.corpora.corpus import output_at
from onym.corpora.formats import get
from onym.corpora.ids import KEY, replace_ids
from onym.corpora.plain import to_plain
from onym.errors import OnymError
from onym.migrate.links import LinkMigrator, MigratedDocument
from onym.store.files.source import InputFile, Source
from onym.store.output import whole_file
from onym.types import Document, Notes

KEEPS_OLD = frozenset({"jsonl", "parquet"})
"""Formats in which a changed mention keeps its old ids in a note; for the others, the audit table has them."""
_JSONL = "jsonl"
_NAME = "name "  # in brat, the key of the note with the name beside an id


class Rewriter:
    """Rewrites documents of one format."""

    def __init__(self, name: str, migrator: LinkMigrator) -> None:
        self._name, self._migrator = name, migrator
        self.form: Format = get(name)
        self.keeps_old = name in KEEPS_OLD

    def rewrite(
        self, files: Sequence[InputFile], parts: Sequence[bytes], old: Document, migrated: MigratedDocument
    ) -> bytes | None:
        """Return the new bytes of a document, or None if no attempt reads as the migrated document.

        `parts` are its bytes in each file of its group; the last file has the annotations.
        """
        for data in self._iter_attempts(parts[-1], migrated):
            made = [InputFile.from_bytes(file.name, part) for file, part in zip(files, [*parts[:-1], data], strict=True)]
            if self.reads_as(made, [old], [migrated.document], migrated.moves):
                return data
        return None

    def reads_as(
        self, files: Sequence[InputFile], old: Iterable[Document], new: Iterable[Document], moves: Mapping[str, str] | None
    ) -> bool:
        """Return whether the files read as the documents `new`, without problems."""
        found = self._iter_items(files)
        try:
            return all(
                isinstance(item, Document) and _are_same(item, after, before, moves)
                for item, after, before in zip(found, new, old, strict=True)
            )
        except (OnymError, ValueError):  # not readable, or another number of documents
            return False

    def write_file(self, documents: Iterable[Document], path: Path) -> None:
        """Write documents to one file; the files of a format that writes folders are joined."""
        if not self.form.IS_FOLDER:
            with output_at(path, self.form, force=True) as output:
                self.form.write(documents, output)
            return
        captured = Captured()
        self.form.write(documents, captured)
        with whole_file(path, force=True) as file:
            file.write(captured.join())

    def _iter_items(self, files: Sequence[InputFile]) -> Iterator[Item]:
        return iter(self.form.read(Source(files[0].name, tuple(files))))

    def _iter_attempts(self, data: bytes, migrated: MigratedDocument) -> Iterator[bytes]:
        if self._name == _JSONL:
            yield rewrite_json(data, migrated, self._migrator)
            return
        if migrated.moves is not None:
            yield patch(data, migrated.moves)
        yield self._write(migrated.document)

    def _write(self, document: Document) -> bytes:
        """Return the bytes of a document as the writer writes it, without what surrounds it in a file."""
        captured = Captured()
        self.form.write([document], captured)
        name, data = captured.last()
        segments = self.form.iter_segments(InputFile.from_bytes(name, data))  # type: ignore[attr-defined]
        return next((segment.data for segment in segments if segment.is_document), b"")


def patch(data: bytes, moves: Mapping[str, str]) -> bytes:
    """Replace ids in the bytes of a document.

    >>> patch(b"1\\t0\\t5\\tFever\\tDisease\\tMESH:D000001\\n", {"mesh:D000001": "mesh:D005334"})
    b'1\\t0\\t5\\tFever\\tDisease\\tMESH:D005334\\n'
    """
    return replace_ids(data.decode("latin-1"), moves, is_cell=False).encode("latin-1")  # only ASCII is replaced


def rewrite_json(data: bytes, migrated: MigratedDocument, migrator: LinkMigrator) -> bytes:
    """Return a line of Onym's JSONL with new ids, also in the candidates of its links; other keys stay as they are."""
    plain, new = json.loads(data), to_plain(migrated.document)
    for key in ("mentions", "relations"):
        for before, after in zip(plain.get(key) or (), new.get(key) or (), strict=False):
            before.update({name: after[name] for name in ("concept_ids", "notes", "arguments") if name in after})
    answers = [each.get("concept_ids") or [] for each in new.get("mentions") or ()]
    for link, answer in zip(plain.get("links") or (), answers, strict=False):
        _move_candidates(link, answer, migrator)
    separators = (",", ":") if b'": ' not in data else (", ", ": ")
    ending = data[len(data.rstrip()) :]
    return json.dumps(plain, ensure_ascii=False, separators=separators).encode() + ending


def _move_candidates(link: dict[str, Any], answer: Sequence[str], migrator: LinkMigrator) -> None:
    """Give candidates their new ids; each id stays once, and the answer is first."""
    candidates = link.get("candidates") or []
    for each in candidates:
        fate = migrator.decide(str(each.get("concept_id", "")))
        each["concept_id"] = fate.new
    if candidates and answer and answer[0] not in {each["concept_id"] for each in candidates}:
        candidates[0]["concept_id"] = answer[0]
    if candidates and answer:
        candidates.sort(key=lambda each: each["concept_id"] != answer[0])
    if candidates:
        link["candidates"] = list({each["concept_id"]: each for each in reversed(candidates)}.values())[::-1]


class Captured:
    """An `Output` that keeps the files in memory."""

    def __init__(self) -> None:
        self._files: dict[str, BytesIO] = {}

    @contextmanager
    def file(self, name: str = "") -> Iterator[BinaryIO]:
        """Open a file for writing."""
        self._files[name] = BytesIO()
        yield self._files[name]

    def last(self) -> tuple[str, bytes]:
        """Return the name and the content of the file that was opened last."""
        name = next(reversed(self._files))
        return name, self._files[name].getvalue()

    def join(self) -> bytes:
        """Return the content of all files, one after the other."""
        return b"".join(file.getvalue() for file in self._files.values())


def _are_same(found: Document, expected: Document, old: Document, moves: Mapping[str, str] | None) -> bool:
    """Return whether a document is the expected one, and has the notes of the old one, but for ids."""
    if _values_of(found) != _values_of(expected):
        return False
    pairs = zip(_notes_of(found), _notes_of(expected), _notes_of(old), strict=True)
    return all(_are_same_notes(*each, moves or {}) for each in pairs)


def _values_of(document: Document) -> tuple[Any, ...]:
    mentions = [(m.start, m.end, m.type, m.concept_ids, m.parts, m.id) for m in document.mentions]
    relations = [(each.type, each.arguments, each.id) for each in document.relations]
    passages = [(each.start, each.end, each.kind) for each in document.passages]
    return document.text, mentions, relations, passages


def _notes_of(document: Document) -> list[Notes]:
    own = [[each.notes for each in parts] for parts in (document.mentions, document.relations, document.passages)]
    return [document.notes, *own[0], *own[1], *own[2]]


def _are_same_notes(found: Notes, expected: Notes, old: Notes, moves: Mapping[str, str]) -> bool:
    """Return whether notes are the expected ones, or the old ones with replaced ids; how ids are written does not count."""
    seen, wanted, before = (
        [(key, value) for key, value in notes if not key.startswith((KEY, _NAME))] for notes in (found, expected, old)
    )
    rename: Callable[[str], str] = lambda text: replace_ids(text, moves)  # noqa: E731
    return seen in (wanted, [(rename(key), rename(value)) for key, value in before])
