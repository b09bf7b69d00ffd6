"""Input files of a plan: found and hashed at planning, and opened again when a shard is linked.

A large JSONL file is split into byte ranges. A file of another format is split into ranges of documents if it is a large part
of all input: planning reads it once to count the documents, and linking a range reads the file up to the end of the range.
Counting is skipped if there are many files of similar size, because they keep all workers busy without being split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from onym.batch.plan import AsideFile, InputGroup, InputPart
from onym.corpora.base import NO_OPTIONS, Item, ReadOptions
from onym.corpora.reading import Group, PlannedFile, Reading, is_of_file, plan_of, require_columns_used, warn_of_cp1252
from onym.errors import ConfigError, InputError
from onym.store.files.input_file import ByteRange, line_ranges, range_of
from onym.store.files.source import InputFile, Source
from onym.store.storage import absolute, is_address, object_source
from onym.types import Document, Problem

_BY_LINES = "jsonl"  # the format in which each line is a document, so files can be split at line ends
_ROOTS = 8  # maximum number of sources whose file listings are cached
_COUNTED = 8  # documents are counted if the file is larger than 1/8 of a shard, compressed or not,
_GOOD_PART = 16  # and larger than 1/16 of all input
_PASSING = frozenset({"input-unreadable", "input-missing", "system-refused", "memory-exhausted"})
"""Codes of read errors that are caused by the system, not by the file, and may be temporary."""


def find_groups(
    sources: Sequence[str | Path],
    format: str,  # noqa: A002
    range_bytes: int,
    range_documents: int,
    options: ReadOptions = NO_OPTIONS,
) -> tuple[list[InputGroup], list[AsideFile]]:
    """Return the file groups of all sources, hashed and in order, and the files that belong to no group."""
    found: list[_Found] = []
    aside: list[AsideFile] = []
    read: list[PlannedFile] = []
    for each in sources:
        root = absolute(each)
        source = _source(root)
        plan = plan_of(source, format, options)
        labelled = source.under(str(each)) if len(sources) > 1 else source
        labels = {file.name: other.name for file, other in zip(source.files, labelled.files, strict=True)}
        aside += [
            AsideFile(name=labels.get(file.name, file.name), why=file.why, code=file.code)
            for file in plan.files
            if file.state != "read"
        ]
        found += [_Found(group, root, labels) for group in plan.groups]
        read += plan.files
    require_columns_used([each.group for each in found], options)
    warn_of_cp1252(read)
    size = sum(each.group.size for each in found)
    groups = [part for each in found for part in each.planned(range_bytes, range_documents, size)]
    names = [part.name for group in groups for part in group.files if part.is_start]
    if len(names) > len(set(names)):
        raise ConfigError("config-invalid", "an input file is given twice", fix="give each input once")
    return groups, aside


class GroupReading:
    """Iterates over the documents and problems of a group. For a range, they have the same numbers as in the whole file.

    Raises InputError if the system could not read a file, or if a file has changed since planning.
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
        """The files with their state after reading."""
        return self._reading.files

    @property
    def bytes_read(self) -> float:
        """The number of bytes read so far; for a range of documents, estimated from the number of documents."""
        documents = self._planned.files[0].documents
        share = self._reading.share if documents is None else min(1.0, self._items / documents)
        return self._planned.bytes * share


def open_group(group: InputGroup) -> Group:
    """Open the files of a group."""
    first = group.files[0]
    return Group(group.format, tuple(_open_part(part) for part in group.files), first.first or 1, first.last, group.options)


def require_unchanged(group: InputGroup, files: Sequence[InputFile]) -> None:
    """Raise InputError if a file that was read has changed since planning."""
    for part, file in zip(group.files, files, strict=True):
        if file.digest() != part.digest:
            fix = "restore the file, or make a new plan in a new folder"
            what = "an input file has changed since the plan was made"
            raise InputError("batch-input-changed", what, where=part.name, fix=fix)


def _renumber(item: Item, ordinals: int) -> Item:
    """Return a document or problem of a byte range with its number in the whole file."""
    is_whole = not ordinals or (isinstance(item, Problem) and is_of_file(item))
    return item if is_whole else replace(item, ordinal=item.ordinal + ordinals)


def _require_readable(files: Iterable[PlannedFile]) -> None:
    """Raise InputError if the system could not read a file. That may be temporary, so it must not change the output."""
    for file in files:
        if file.code in _PASSING:
            fix = "check the disk or the network, and run it again"
            what = f"an input could not be read completely: {file.code}"
            raise InputError("input-unreadable", what, where=file.name, fix=fix)


@dataclass(frozen=True)
class _Found:
    """A group of files, its source, and the names of its files for the output."""

    group: Group
    root: str
    labels: dict[str, str]

    def planned(self, range_bytes: int, range_documents: int, all_bytes: int) -> list[InputGroup]:
        """Return the group itself, or several ranges if it is one large file. `all_bytes` is the size of all input."""
        first = self.group.files[0]
        is_utf8 = not self.group.options.encoding
        if self.group.format == _BY_LINES and is_utf8 and first.size > range_bytes and _is_plain_lines(first):
            return [self._byte_range(first, each) for each in line_ranges(first, range_bytes)]
        is_large = first.size * _COUNTED > range_bytes and first.size * _GOOD_PART > all_bytes
        count = _count_documents(self.group) if is_large and len(self.group.files) == 1 else 0
        if count > range_documents:
            return list(self._document_ranges(first, count, -(-count // range_documents)))
        return [self._input(tuple(self._part(file) for file in self.group.files))]

    def _input(self, parts: tuple[InputPart, ...]) -> InputGroup:
        return InputGroup(format=self.group.format, options=self.group.options, files=parts)

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
        return self._input((part,))

    def _document_ranges(self, file: InputFile, count: int, ranges: int) -> Iterator[InputGroup]:
        """Split a file into ranges of about equal numbers of documents; each gets a proportional share of the bytes."""
        whole = self._part(file)
        for number in range(ranges):
            before, end = count * number // ranges, count * (number + 1) // ranges
            size = file.size * end // count - file.size * before // count
            span = {"first": before + 1, "documents": end - before, "to_end": end == count}
            yield self._input((whole.model_copy(update={"bytes": size, **span}),))


def _count_documents(group: Group) -> int:
    """Return the number of documents of a file, up to the last readable one."""
    return max((item.ordinal for item in Reading.of_groups([group]) if isinstance(item, Document)), default=0)


def _is_plain_lines(file: InputFile) -> bool:
    """Return whether a file is uncompressed and begins with a JSON object."""
    with file.opener() as raw:
        return bool(raw.seekable()) and raw.read(1) == b"{"


def _open_part(part: InputPart) -> InputFile:
    file = _files_in(part.root).get(part.member)
    if file is None:
        fix = "restore it, or make a new plan in a new folder"
        raise InputError("input-missing", "an input file of the plan is missing", where=part.name, fix=fix)
    if part.start is not None:
        return replace(range_of(file, part.start, part.start + part.bytes), name=part.name)
    return replace(file, name=part.name, _read_digests=[], _tiny=[])


@lru_cache(_ROOTS)
def _files_in(root: str) -> dict[str, InputFile]:
    return {file.name: file for file in _source(root).files}


def _source(root: str) -> Source:
    return object_source(root) if is_address(root) else Source.open(root)
