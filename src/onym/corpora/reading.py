"""Reads the files of a corpus in one pass: documents with their `source` and `ordinal`, problems, and the state of each file.

If a file cannot be read to its end, the documents before the error are kept, the file counts as failed, and reading continues
with the next file.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal, Self, get_args

from onym.corpora.base import DELETED, NO_OPTIONS, Item, ReadOptions
from onym.corpora.formats import format_of, format_with_columns, get, iter_groups
from onym.corpora.problems import KEEPS_ALL, problem_of
from onym.errors import ConfigError, InputError, IntegrityError, LimitError, OnymError, printable
from onym.store.files.encodings import CP1252, as_utf8, recognise, require_encoding
from onym.store.files.source import NAME as STDIN
from onym.store.files.source import InputFile, Source
from onym.types import Document, Problem

State = Literal["read", "ignored", "failed"]

_ASIDE = re.compile(
    r"readme(?:[^a-z0-9].*)?|(?:licen[sc]e|copying|provenance)(?:\.(?:txt|md|rst|html?|pdf))?|.*\.conf|thumbs\.db"
)
_HIDDEN = re.compile(r"(?:^|/)\.")
_WORKBOOK = ".xlsx"
_log = logging.getLogger("onym.corpora")


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """The state of a file: read in a format, ignored (`why`), or failed with an error `code`.

    `documents` is the number of documents read from the file, before any failure. In a group of files, all documents are
    counted for the first file. `encoding` is empty for UTF-8 and for binary files. `text_columns` and `id_column` are those of
    a table, or those given for JSON.
    """

    name: str
    state: State
    format: str = ""
    code: str = ""
    why: str = ""
    documents: int = 0
    encoding: str = ""
    text_columns: tuple[str, ...] = ()
    id_column: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """One file, or several that are read together. Documents with ordinals `first` to `last` are read, by default all.

    `options` are those of these files: with the columns of a table, and with the encoding if it is not UTF-8.
    """

    format: str
    files: tuple[InputFile, ...] = field(repr=False)
    first: int = 1
    last: int | None = None
    options: ReadOptions = NO_OPTIONS

    def planned_files(self) -> list[PlannedFile]:
        """Return the files, in the state of being read."""
        options = asdict(self.options) if hasattr(get(self.format), "read_with") else {"encoding": self.options.encoding}
        return [PlannedFile(file.name, "read", self.format, **options) for file in self.files]

    def iter_items(self) -> Iterator[Item]:
        """Yield the documents and problems of the files, without numbers."""
        form, files = get(self.format), tuple(as_utf8(file, self.options.encoding) for file in self.files)
        read = getattr(form, "read_with", None)
        source = Source(self.name, files)
        yield from within_limit(read(source, self.options) if read else form.read(source), self.files[0].limits.document_bytes)

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


def plan_of(source: Source, format: str = "", options: ReadOptions = NO_OPTIONS) -> Plan:  # noqa: A002 - what it is
    """Decide which files of a source to read and how. Raises only if the given format or encoding is unknown."""
    making = _PlanBuilder(source, format, options)
    making.take_groups()
    making.take_files()
    by_name = sorted(making.files, key=lambda file: file.name)
    return Plan(tuple(by_name), tuple(sorted(making.groups, key=lambda group: group.name)), tuple(making.errors))


def first_error(plans: Sequence[Plan], where: str) -> OnymError:
    """Return the error for plans in which no file can be read."""
    from onym.corpora.formats.hints import unknown_format

    return next((error for plan in plans for error in plan.errors), unknown_format(where))


def state_counts(files: Iterable[PlannedFile]) -> dict[State, int]:
    """Count files by their state.

    >>> state_counts([PlannedFile("a.txt", "read", "text"), PlannedFile("b.txt", "read", "text")])
    {'read': 2, 'ignored': 0, 'failed': 0}
    """
    counts = Counter(file.state for file in files)
    return {state: counts[state] for state in get_args(State)}


class _PlanBuilder:
    """A plan under construction."""

    def __init__(self, source: Source, format: str, options: ReadOptions) -> None:  # noqa: A002
        self.files: list[PlannedFile] = []
        self.groups: list[Group] = []
        self.errors: list[OnymError] = []
        self._source, self._format, self._options = source, format, options
        self._encoding = require_encoding(options.encoding) if options.encoding else ""
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
                else:
                    self._take_file(file)

    def _take_file(self, file: InputFile) -> None:
        from onym.corpora.formats.hints import unknown_format  # lazy, because it imports pyarrow

        try:
            name = self._format or self._format_of(file)
            if name:
                self._read(name, (file,))
            elif not file.head(1):
                self._ignore(file.name, "the file is empty")
            else:
                self._fail(file.name, unknown_format(file.name, as_utf8(file, self._encoding or recognise(file))))
        except (InputError, LimitError) as e:
            self._fail(file.name, e)

    def _format_of(self, file: InputFile) -> str:
        """Return the format of a file, or "" if it is not recognised; raise InputError for a PDF and the like."""
        shown = as_utf8(file, self._encoding or recognise(file))
        if self._options.text_columns and (name := format_with_columns(shown) or ("table" if file.stem == STDIN else "")):
            return name
        from onym.corpora.formats.hints import require_text

        found = format_of(shown)
        if found in ("", "text"):  # a plug-in may read documents of other programs
            require_text(file)
        return found

    def _read(self, name: str, files: tuple[InputFile, ...]) -> None:
        group = Group(name, files, options=self._resolve(name, files))
        self.files += group.planned_files()
        self.groups.append(group)

    def _resolve(self, name: str, files: tuple[InputFile, ...]) -> ReadOptions:
        """Return the encoding and the columns of a file; files of a group are UTF-8, unless another encoding is given."""
        form = get(name)
        if getattr(form, "DECODES", False) or files[0].stem.endswith(_WORKBOOK):
            encoding = ""
        elif self._encoding or len(files) > 1:
            encoding = self._encoding
        else:
            encoding = recognise(files[0], may_be_cp1252=getattr(form, "MAY_BE_CP1252", False))
        options = replace(self._options, encoding=encoding)
        resolve = getattr(form, "resolve", None)
        return resolve(as_utf8(files[0], encoding), options) if resolve else options

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
    >>> files = [InputFile.from_bytes("1.txt", b"High fever"), InputFile.from_bytes("2.txt", b"\\x81")]
    >>> reading = Reading([Source.of_files("notes", files)])
    >>> list(reading)
    [<Document 1: 10 code points, 0 mentions>, Problem(document_id='', code='input-encoding', ...source='2.txt', ordinal=0)]
    >>> [(file.name, file.state, file.documents) for file in reading.files]
    [('1.txt', 'read', 1), ('2.txt', 'failed', 0)]
    """

    def __init__(self, sources: Sequence[Source], format: str = "", options: ReadOptions = NO_OPTIONS) -> None:  # noqa: A002
        plans = [plan_of(source, format, options) for source in sources]
        groups = [group for plan in plans for group in plan.groups]
        if not groups:
            raise first_error(plans, ", ".join(source.name for source in sources))
        require_columns_used(groups, options)
        self._start(plans)
        warn_of_cp1252(self.files)

    @classmethod
    def of_groups(cls, groups: Sequence[Group]) -> Self:
        """Read files whose formats are already known.

        >>> from onym.store.files.source import InputFile
        >>> [doc.id for doc in Reading.of_groups([Group("text", (InputFile.from_bytes("1.txt", b"High fever"),))])]
        ['1']
        """
        reading = cls.__new__(cls)
        files = [file for group in groups for file in group.planned_files()]
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
            for item in number_items(group.iter_items(), group.name, group.first, group.last):
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


def require_columns_used(groups: Iterable[Group], options: ReadOptions) -> None:
    """Raise ConfigError if columns are given, but no file has columns."""
    if (options.text_columns or options.id_column) and not any(hasattr(get(group.format), "read_with") for group in groups):
        what = "--text-column and --id-column are for tables and JSON, and no file is one"
        raise ConfigError(
            "config-invalid", what, fix="drop these options, or give the format with --from table or --from records"
        )


def warn_of_cp1252(files: Iterable[PlannedFile]) -> None:
    """Log a warning if files are read as Windows-1252, which nothing in them proves."""
    if names := [file.name for file in files if file.encoding == CP1252 and file.state == "read"]:
        others = f" and {len(names) - 1:,} other files" if len(names) > 1 else ""
        what = "not UTF-8 and read as Windows-1252 (cp1252); if letters are wrong, give --encoding"
        _log.warning("%s", printable(f"{names[0]}{others}: {what}"))


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
