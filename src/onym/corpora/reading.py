"""Reads the files of a corpus in one pass: documents with their `source` and `ordinal`, problems, and the state of each file.

If a file cannot be read to its end, the documents before the error are kept, the file counts as failed, and reading continues
with the next file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self, get_args

from onym.corpora.base import DELETED, Item
from onym.corpora.formats import format_of, get, iter_groups, unknown_format
from onym.corpora.problems import KEEPS_ALL, problem_of
from onym.errors import ConfigError, InputError, IntegrityError, LimitError, OnymError
from onym.store.files.source import InputFile, Source
from onym.types import Document, Problem

State = Literal["read", "ignored", "failed"]

_ASIDE = re.compile(
    r"readme(?:[^a-z0-9].*)?|(?:licen[sc]e|copying|provenance)(?:\.(?:txt|md|rst|html?|pdf))?|.*\.conf|thumbs\.db"
)
_HIDDEN = re.compile(r"(?:^|/)\.")


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """The state of a file: read in a format, ignored (`why`), or failed with an error `code`.

    `documents` is the number of documents read from the file, before any failure. In a group of files, all documents are
    counted for the first file.
    """

    name: str
    state: State
    format: str = ""
    code: str = ""
    why: str = ""
    documents: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """One file, or several that are read together. Documents with ordinals `first` to `last` are read, by default all."""

    format: str
    files: tuple[InputFile, ...] = field(repr=False)
    first: int = 1
    last: int | None = None

    @property
    def name(self) -> str:
        """The `source` of the documents: the name of the first file."""
        return self.files[0].name

    @property
    def size(self) -> int:
        """The total size of the files, in bytes."""
        return sum(file.size for file in self.files)

    @property
    def bytes_read(self) -> int:
        """The number of bytes read so far from the open files."""
        return sum(file.bytes_read for file in self.files)


@dataclass(frozen=True)
class Plan:
    """The files of a source and the groups of files to read, both sorted by name, and the errors found so far.

    >>> files = [InputFile.from_bytes(name, b"High fever") for name in ("1.txt", "2.bin", "README.md")]
    >>> plan = plan_of(Source.of_files("notes", files))
    >>> [(file.name, file.state, file.format or file.code) for file in plan.files]
    [('1.txt', 'read', 'text'), ('2.bin', 'failed', 'format-unknown'), ('README.md', 'ignored', '')]
    """

    files: tuple[PlannedFile, ...]
    groups: tuple[Group, ...]
    errors: tuple[OnymError, ...] = ()


def plan_of(source: Source, format: str = "") -> Plan:  # noqa: A002 - what it is
    """Decide which files of a source to read and in which format. Raises only if the given format is unknown."""
    making = _PlanBuilder(source, format)
    making.take_groups()
    making.take_files()
    by_name = sorted(making.files, key=lambda file: file.name)
    return Plan(tuple(by_name), tuple(sorted(making.groups, key=lambda group: group.name)), tuple(making.errors))


def state_counts(files: Iterable[PlannedFile]) -> dict[State, int]:
    """Count files by their state.

    >>> state_counts([PlannedFile("a.txt", "read", "text"), PlannedFile("b.txt", "read", "text")])
    {'read': 2, 'ignored': 0, 'failed': 0}
    """
    counts = Counter(file.state for file in files)
    return {state: counts[state] for state in get_args(State)}


class _PlanBuilder:
    """A plan under construction."""

    def __init__(self, source: Source, format: str) -> None:  # noqa: A002
        self.files: list[PlannedFile] = []
        self.groups: list[Group] = []
        self.errors: list[OnymError] = []
        self._source, self._format = source, format
        self._claimed: set[str] = set()
        for entry in source.skipped:
            if entry.error:
                self._fail(entry.name, entry.error)
            else:
                self._ignore(entry.name, entry.why)

    def take_groups(self) -> None:
        for name, files in iter_groups(self._source, self._format):
            if self._claimed.isdisjoint(file.name for file in files):
                self._claimed.update(file.name for file in files)
                self._read(name, files)

    def take_files(self) -> None:
        is_named_itself = len(self._source.files) == 1 and self._source.files[0].name == self._source.name
        for file in self._source.files:
            if file.name not in self._claimed:
                if not is_named_itself and (why := _why_aside(file)):
                    self._ignore(file.name, why)
                elif self._format:
                    self._read(self._format, (file,))
                else:
                    self._recognise(file)

    def _recognise(self, file: InputFile) -> None:
        try:
            if found := format_of(file):
                self._read(found, (file,))
            elif not file.head(1):
                self._ignore(file.name, "the file is empty")
            else:
                self._fail(file.name, unknown_format(file.name))
        except (InputError, LimitError) as e:
            self._fail(file.name, e)

    def _read(self, name: str, files: tuple[InputFile, ...]) -> None:
        self.files += [PlannedFile(file.name, "read", name) for file in files]
        self.groups.append(Group(name, files))

    def _ignore(self, name: str, why: str) -> None:
        self.files.append(PlannedFile(name, "ignored", why=why))

    def _fail(self, name: str, error: OnymError) -> None:
        self.files.append(PlannedFile(name, "failed", code=error.code, why=error.what))
        self.errors.append(error)


def _why_aside(file: InputFile) -> str:
    if _HIDDEN.search(file.name):
        return "a hidden file"
    return "not a document file, by its name" if _ASIDE.fullmatch(file.stem) else ""


KEEPS_DOCUMENT = frozenset({"corpus-offsets", "corpus-bytes", DELETED})
"""Codes of problems after which the document is still read, and follows."""


class Reading:
    """An iterator over the documents and problems of sources, sorted by file name. `files` lists the state of each file.

    >>> from onym.store.files.source import InputFile
    >>> files = [InputFile.from_bytes("1.txt", b"High fever"), InputFile.from_bytes("2.txt", b"\\xff")]
    >>> reading = Reading([Source.of_files("notes", files)])
    >>> list(reading)
    [<Document 1: 10 code points, 0 mentions>, Problem(document_id='', code='input-encoding', ...source='2.txt', ordinal=0)]
    >>> [(file.name, file.state, file.documents) for file in reading.files]
    [('1.txt', 'read', 1), ('2.txt', 'failed', 0)]
    """

    def __init__(self, sources: Sequence[Source], format: str = "") -> None:  # noqa: A002 - what it is
        plans = [plan_of(source, format) for source in sources]
        if not any(plan.groups for plan in plans):
            errors = [error for plan in plans for error in plan.errors]
            raise errors[0] if errors else unknown_format(", ".join(source.name for source in sources))
        self._start(plans)

    @classmethod
    def of_groups(cls, groups: Sequence[Group]) -> Self:
        """Read files whose formats are already known.

        >>> from onym.store.files.source import InputFile
        >>> [doc.id for doc in Reading.of_groups([Group("text", (InputFile.from_bytes("1.txt", b"High fever"),))])]
        ['1']
        """
        reading = cls.__new__(cls)
        files = [PlannedFile(file.name, "read", group.format) for group in groups for file in group.files]
        reading._start([Plan(tuple(files), tuple(groups))])  # noqa: SLF001 - its own
        return reading

    def _start(self, plans: Sequence[Plan]) -> None:
        self._groups = [group for plan in plans for group in plan.groups]
        self._files = {file.name: file for plan in plans for file in plan.files}
        self._errors: list[Exception] = [error for plan in plans for error in plan.errors]
        if sum(len(plan.files) for plan in plans) > len(self._files):
            raise ConfigError("config-invalid", "a file is given twice", fix="give each input file only once")
        self._size, self._finished = sum(group.size for group in self._groups), 0
        self._current = self._groups[0]
        self._items = self._read_all()

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        return next(self._items)

    @property
    def files(self) -> tuple[PlannedFile, ...]:
        """The state of every file, with the number of documents read so far."""
        return tuple(self._files.values())

    @property
    def share(self) -> float:
        """The share of bytes read so far, for progress bars.

        If the current file has been read to its end, its bytes do not count yet: a reader may load a file completely before it
        yields the first document.

        >>> from onym.store.files.source import InputFile
        >>> reading = Reading([Source.of_files("notes", [InputFile.from_bytes(f"{n}.txt", b"High fever") for n in range(4)])])
        >>> [reading.share for _ in reading]
        [0.0, 0.25, 0.5, 0.75]
        """
        far = self._current.bytes_read if self._current.bytes_read < self._current.size else 0
        return (self._finished + far) / self._size if self._size else 0.0

    def require_whole(self) -> None:
        """If any file could not be read, raise the first error."""
        if self._errors:
            raise self._errors[0]

    def _read_all(self) -> Iterator[Item]:
        failed = [file for file in self.files if file.state == "failed"]
        yield from (Problem("", file.code, file.why, file.name, file.name) for file in failed)
        for group in self._groups:
            self._current = group
            yield from self._read(group)
            self._finished += group.size

    def _read(self, group: Group) -> Iterator[Item]:
        documents = 0
        try:
            items = within_limit(get(group.format).read(Source(group.name, group.files)), group.files[0].limits.document_bytes)
            for item in number_items(items, group.name, group.first, group.last):
                documents += isinstance(item, Document)
                yield item
            for file in group.files:
                file.drain()
        except (ConfigError, IntegrityError):
            raise
        except Exception as e:  # after any error of a reader, only this file is skipped
            problem = replace(problem_of(e, ""), source=group.name)
            self._errors.append(e)
            for file in group.files:
                self._update(file.name, state="failed", code=problem.code, why=problem.what)
            yield problem
        finally:
            self._update(group.name, documents=documents)

    def _update(self, name: str, **changes: object) -> None:
        self._files[name] = replace(self._files[name], **changes)  # type: ignore[arg-type]


def within_limit(items: Iterable[Item], document_bytes: int) -> Iterator[Item]:
    """Yield items, with a problem in place of each document whose text is too long.

    >>> list(within_limit([Document("1", "High fever")], 5))
    [Problem(document_id='1', code='limit-record', what='a document is longer than 5 bytes', ...)]
    """
    for item in items:
        is_long = isinstance(item, Document) and len(item.text) > document_bytes // 4
        if isinstance(item, Document) and is_long and len(item.text.encode("utf-8", "replace")) > document_bytes:
            yield Problem(item.id, "limit-record", f"a document is longer than {document_bytes:,} bytes")
        else:
            yield item


def is_of_file(problem: Problem) -> bool:
    """Return whether a problem is about a whole file.

    >>> is_of_file(Problem("", "input-link", "a link that leads out of the folder", source="a.txt"))
    True
    """
    return bool(problem.source) and not problem.ordinal


def is_loss(problem: Problem) -> bool:
    """Return whether a problem means that a document or a mention was lost. Problems of whole files do not count.

    >>> is_loss(Problem("1", "corpus-offsets", "a mention lies outside the text", source="a.txt", ordinal=1))
    True
    """
    return problem.code not in KEEPS_ALL and not is_of_file(problem)


def number_items(items: Iterable[Item], source: str, first: int = 1, last: int | None = None) -> Iterator[Item]:
    """Set the `source` and `ordinal` of a file's items. Documents that could not be read get an ordinal too.

    Only items with ordinals from `first` to `last` are yielded, and reading stops after `last`.

    >>> lost = Problem("1", "corpus-malformed", "a line has no tab")
    >>> [(item.source, item.ordinal) for item in number_items([lost, Document("2", "fever")], "a.txt")]
    [('a.txt', 1), ('a.txt', 2)]
    """
    read = 0
    for item in items:
        ordinal = read + 1
        read += not (isinstance(item, Problem) and item.code in KEEPS_DOCUMENT)
        if ordinal >= first:
            yield replace(item, source=source, ordinal=ordinal)
        if read == last:
            return
