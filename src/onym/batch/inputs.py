"""The input files of a plan: found and hashed when it is made, and opened again where a shard is linked."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from onym.batch.plan import AsideFile, InputGroup, InputPart
from onym.corpora.base import Item
from onym.corpora.reading import Group, PlannedFile, Reading, is_of_file, plan_of
from onym.errors import ConfigError, InputError
from onym.store.files.input_file import line_ranges, range_of
from onym.store.files.source import InputFile, Source
from onym.store.storage import absolute, is_address, object_source
from onym.types import Problem

_BY_LINES = "jsonl"  # the one format of which a line is a document, whatever stands before it
_ROOTS = 8  # sources that a process has open
_PASSING = frozenset({"input-unreadable", "input-missing", "system-refused", "memory-exhausted"})
"""Codes of files that are no fault of the files."""


def found_groups(sources: Sequence[str | Path], format: str, range_bytes: int) -> tuple[list[InputGroup], list[AsideFile]]:  # noqa: A002
    """Return the groups of files of sources, hashed, in order; and the files that are in none."""
    groups: list[InputGroup] = []
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
        for group in plan.groups:
            groups += _planned(group, root, labels, range_bytes)
    names = [part.name for group in groups for part in group.files if not part.start]
    if len(names) > len(set(names)):
        raise ConfigError("config-invalid", "a file is named twice", fix="name each input once")
    return groups, aside


def read_group(planned: InputGroup) -> Generator[Item, None, tuple[PlannedFile, ...]]:
    """Yield the documents and problems of a group, numbered as in whole files; return what became of its files.

    What a system could not read just now is refused, and so is what is not what it was when the plan was made.
    """
    group = open_group(planned)
    reading = Reading.of_groups([group])
    for item in reading:
        yield _moved(item, planned.files[0].lines_before)
    _require_readable(reading.files)
    require_unchanged(planned, group.files)
    return reading.files


def open_group(group: InputGroup) -> Group:
    """Return the files of a group, ready to be read."""
    return Group(group.format, tuple(_open_part(part) for part in group.files))


def require_unchanged(group: InputGroup, files: Sequence[InputFile]) -> None:
    """Refuse inputs that were read and are not what they were when the plan was made."""
    for part, file in zip(group.files, files, strict=True):
        if file.digest() != part.digest:
            fix = "bring back the file that was there, or make a new plan in a new folder"
            raise InputError("batch-input-changed", "an input has changed since the plan was made", where=part.name, fix=fix)


def _moved(item: Item, ordinals: int) -> Item:
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


def _planned(group: Group, root: str, labels: dict[str, str], range_bytes: int) -> Iterator[InputGroup]:
    first = group.files[0]
    if group.format == _BY_LINES and first.size > range_bytes and _is_plain_lines(first):
        for each in line_ranges(first, range_bytes):
            part = InputPart(
                root=root,
                member=first.name,
                name=labels[first.name],
                bytes=each.end - each.start,
                digest=each.digest,
                start=each.start,
                lines_before=each.lines_before,
            )
            yield InputGroup(format=group.format, files=(part,))
        return
    parts = [
        InputPart(root=root, member=file.name, name=labels[file.name], bytes=file.size, digest=file.digest())
        for file in group.files
    ]
    yield InputGroup(format=group.format, files=tuple(parts))


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
