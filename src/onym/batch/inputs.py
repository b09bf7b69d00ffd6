"""The input files of a plan: found and hashed when it is made, and opened again where a shard is linked.

A large file of lines is divided into ranges of bytes. Another file is divided into ranges of documents if it is a good part of
all input: the documents are counted by reading it once, and whoever links a range reads the file up to its end. Reading is much
faster than linking, but would take long for thousands of files, which need no division to keep all workers busy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from onym.batch.plan import AsideFile, InputGroup, InputPart
from onym.corpora.base import Item
from onym.corpora.reading import Group, PlannedFile, Reading, is_of_file, plan_of
from onym.errors import ConfigError, InputError
from onym.store.files.input_file import ByteRange, line_ranges, range_of
from onym.store.files.source import InputFile, Source
from onym.store.storage import absolute, is_address, object_source
from onym.types import Document, Problem

_BY_LINES = "jsonl"  # the one format of which a line is a document, whatever stands before it
_ROOTS = 8  # sources that a process has open
_COUNTED = 8  # a file is counted if it has more than this part of the bytes of a shard, packed or not
_GOOD_PART = 16  # and more than this part of all input
_PASSING = frozenset({"input-unreadable", "input-missing", "system-refused", "memory-exhausted"})
"""Codes of files that are no fault of the files."""


def find_groups(
    sources: Sequence[str | Path],
    format: str,  # noqa: A002
    range_bytes: int,
    range_documents: int,
) -> tuple[list[InputGroup], list[AsideFile]]:
    """Return the groups of files of sources, hashed, in order; and the files that are in none."""
    found: list[_Found] = []
    aside: list[AsideFile] = []
    for each in sources:
        root = absolute(each)
        source = _source(root)
        plan = plan_of(source, format)
        labelled = source.under(str(each)) if len(sources) > 1 else source
        labels = {file.name: other.name for file, other in zip(source.files, labelled.files, strict=True)}
        aside += [
            AsideFile(name=labels.get(file.name, file.name), why=file.why, code=file.code)
            for file in plan.files
            if file.state != "read"
        ]
        found += [_Found(group, root, labels) for group in plan.groups]
    size = sum(each.group.size for each in found)
    groups = [part for each in found for part in each.planned(range_bytes, range_documents, size)]
    names = [part.name for group in groups for part in group.files if part.is_start]
    if len(names) > len(set(names)):
        raise ConfigError("config-invalid", "a file is named twice", fix="name each input once")
    return groups, aside


class GroupReading:
    """The documents and problems of a group, numbered as in whole files; `files` says what became of its files.

    What a system could not read just now is refused, and so is what is not what it was when the plan was made.
    """

    def __init__(self, planned: InputGroup) -> None:
        self._planned, self._group = planned, open_group(planned)
        self._reading, self._items = Reading.of_groups([self._group]), 0

    def __iter__(self) -> Iterator[Item]:
        for item in self._reading:
            self._items += 1
            yield _renumber(item, self._planned.files[0].lines_before)
        _require_readable(self._reading.files)
        require_unchanged(self._planned, self._group.files)

    @property
    def files(self) -> tuple[PlannedFile, ...]:
        """What became of the files."""
        return self._reading.files

    @property
    def bytes_read(self) -> float:
        """How much of the group is read; of a range of documents, the bytes that the documents so far have on average."""
        documents = self._planned.files[0].documents
        share = self._reading.share if documents is None else min(1.0, self._items / documents)
        return self._planned.bytes * share


def open_group(group: InputGroup) -> Group:
    """Return the files of a group, ready to be read."""
    first = group.files[0]
    return Group(group.format, tuple(_open_part(part) for part in group.files), first.first or 1, first.last)


def require_unchanged(group: InputGroup, files: Sequence[InputFile]) -> None:
    """Refuse inputs that were read and are not what they were when the plan was made."""
    for part, file in zip(group.files, files, strict=True):
        if file.digest() != part.digest:
            fix = "bring back the file that was there, or make a new plan in a new folder"
            raise InputError("batch-input-changed", "an input has changed since the plan was made", where=part.name, fix=fix)


def _renumber(item: Item, ordinals: int) -> Item:
    """Return a document or a problem of a range with its number in the whole file."""
    is_whole = not ordinals or (isinstance(item, Problem) and is_of_file(item))
    return item if is_whole else replace(item, ordinal=item.ordinal + ordinals)


def _require_readable(files: Iterable[PlannedFile]) -> None:
    """Refuse what a system could not read just now: it may be read the next time, and an output must not depend on that."""
    for file in files:
        if file.code in _PASSING:
            fix = "mend the disk or the network, and run it again"
            what = f"an input could not be read to its end: {file.code}"
            raise InputError("input-unreadable", what, where=file.name, fix=fix)


@dataclass(frozen=True)
class _Found:
    """A group of files that was found, the source that it is in, and the names that its documents have the files by."""

    group: Group
    root: str
    labels: dict[str, str]

    def planned(self, range_bytes: int, range_documents: int, all_bytes: int) -> list[InputGroup]:
        """Return it as one group, or as several ranges of one file. `all_bytes` is the size of all input."""
        first = self.group.files[0]
        if self.group.format == _BY_LINES and first.size > range_bytes and _is_plain_lines(first):
            return [self._byte_range(first, each) for each in line_ranges(first, range_bytes)]
        is_large = first.size * _COUNTED > range_bytes and first.size * _GOOD_PART > all_bytes
        count = _count_documents(self.group) if is_large and len(self.group.files) == 1 else 0
        if count > range_documents:
            return list(self._document_ranges(first, count, -(-count // range_documents)))
        return [InputGroup(format=self.group.format, files=tuple(self._part(file) for file in self.group.files))]

    def _part(self, file: InputFile) -> InputPart:
        name = self.labels[file.name]
        return InputPart(root=self.root, member=file.name, name=name, bytes=file.size, digest=file.digest())

    def _byte_range(self, file: InputFile, found: ByteRange) -> InputGroup:
        part = InputPart(
            root=self.root,
            member=file.name,
            name=self.labels[file.name],
            bytes=found.end - found.start,
            digest=found.digest,
            start=found.start,
            lines_before=found.lines_before,
        )
        return InputGroup(format=self.group.format, files=(part,))

    def _document_ranges(self, file: InputFile, count: int, ranges: int) -> Iterator[InputGroup]:
        """Divide a file into ranges of nearly equal numbers of documents; each has its share of the bytes."""
        whole = self._part(file)
        for number in range(ranges):
            before, end = count * number // ranges, count * (number + 1) // ranges
            size = file.size * end // count - file.size * before // count
            span = {"first": before + 1, "documents": end - before, "to_end": end == count}
            yield InputGroup(format=self.group.format, files=(whole.model_copy(update={"bytes": size, **span}),))


def _count_documents(group: Group) -> int:
    """Return the number of the last document of a file; what cannot be read ends it."""
    return max((item.ordinal for item in Reading.of_groups([group]) if isinstance(item, Document)), default=0)


def _is_plain_lines(file: InputFile) -> bool:
    """Tell whether a file is not packed, and begins with an object on a line of its own."""
    with file.opener() as raw:
        return bool(raw.seekable()) and raw.read(1) == b"{"


def _open_part(part: InputPart) -> InputFile:
    file = _files_in(part.root).get(part.member)
    if file is None:
        fix = "bring it back, or make a new plan in a new folder"
        raise InputError("input-missing", "an input of the plan is missing", where=part.name, fix=fix)
    if part.start is not None:
        return replace(range_of(file, part.start, part.start + part.bytes), name=part.name)
    return replace(file, name=part.name, _read_digests=[], _tiny=[])


@lru_cache(_ROOTS)
def _files_in(root: str) -> dict[str, InputFile]:
    return {file.name: file for file in _source(root).files}


def _source(root: str) -> Source:
    return object_source(root) if is_address(root) else Source.open(root)
