"""What becomes of each file of a corpus, decided file by file before any document is read.

1. Files that belong together, such as BRAT's `.txt` and `.ann`, are claimed by their format.
2. Files that come with corpora and hold no documents (README, LICENSE, `*.conf`, hidden files) are ignored, as are empty ones.
3. An extension that means one format decides: `.pubtator`, `.parquet`, `.concept` ...
4. Other files are decided by their beginning. A `.txt` file that no other format recognises is plain text.
5. What is left fails with `format-unknown`: it may hold documents.

A format that is named is that of all files but those of step 2. A file that is named itself is never ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

from onym.corpora.formats import format_of, iter_groups, unknown_format
from onym.errors import InputError, LimitError, OnymError
from onym.store.files.source import InputFile, Source

State = Literal["read", "ignored", "failed"]

_ASIDE = re.compile(
    r"readme(?:[^a-z0-9].*)?|(?:licen[sc]e|copying|provenance)(?:\.(?:txt|md|rst|html?|pdf))?|.*\.conf|thumbs\.db"
)
_HIDDEN = re.compile(r"(?:^|/)\.")


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """What becomes of a file: it is read in a format, ignored (`why`), or it failed with an error's `code`.

    `documents` counts those that were read of it, also if it failed in the middle. Of a group, the first file has them all.
    """

    name: str
    state: State
    format: str = ""
    code: str = ""
    why: str = ""
    documents: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Files that are read together, mostly one."""

    format: str
    files: tuple[InputFile, ...] = field(repr=False)

    @property
    def name(self) -> str:
        """The file that the documents are said to be of."""
        return self.files[0].name

    @property
    def size(self) -> int:
        """How many bytes its files have."""
        return sum(file.size for file in self.files)

    @property
    def bytes_read(self) -> int:
        """How many of them are read while they are open."""
        return sum(file.bytes_read for file in self.files)


@dataclass(frozen=True)
class Plan:
    """Every file of a source, the groups that are to be read, both in the order of their names, and the errors met so far.

    >>> files = [InputFile.from_bytes(name, b"High fever") for name in ("1.txt", "2.bin", "README.md")]
    >>> plan = plan_of(Source.of_files("notes", files))
    >>> [(file.name, file.state, file.format or file.code) for file in plan.files]
    [('1.txt', 'read', 'text'), ('2.bin', 'failed', 'format-unknown'), ('README.md', 'ignored', '')]
    """

    files: tuple[PlannedFile, ...]
    groups: tuple[Group, ...]
    errors: tuple[OnymError, ...] = ()


def plan_of(source: Source, format: str = "") -> Plan:  # noqa: A002 - what it is
    """Decide what becomes of the files of a source. Nothing is raised but for the name of an unknown format."""
    making = _Making(source, format)
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


class _Making:
    """A plan while it is made."""

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
    return "no file of documents, by its name" if _ASIDE.fullmatch(file.stem) else ""
