"""Base types of datasets: required files, readers, and counts of dropped mentions.

A file is looked up in the data folder by its usual path, and then without the leading folders of that path.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Self

from onym.corpora.base import Item
from onym.errors import InputError
from onym.kb.recipe import Recipe
from onym.store.artefact import InputEntry
from onym.store.files.source import InputFile, Source
from onym.types import Document, Problem

_PACKED = ("", ".gz", ".zst")
_ARCHIVES = ("", ".tar.gz", ".tgz", ".zip", ".tar")
NO_ID = "no id"
SPLITS = ("train", "dev", "test")
"""The splits in reading order: train comes first, so that overlap with it can be counted in one pass."""


@dataclass(frozen=True, slots=True)
class RequiredFile:
    """A required file, with its usual path in the data folder. The path of an archive has no `.zip` or `.tar.gz`.

    The leading folders of the path are optional when the file is looked up; the last `min_parts` parts are not.

    >>> RequiredFile("bc5cdr/CDR_TestSet.PubTator.txt").paths
    ('bc5cdr/CDR_TestSet.PubTator.txt', 'CDR_TestSet.PubTator.txt')
    """

    path: str
    is_archive: bool = False
    min_parts: int = 1

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths to try, longest first."""
        parts = PurePosixPath(self.path).parts
        return tuple("/".join(parts[start:]) for start in range(len(parts) - self.min_parts + 1))

    def find(self, folder: Path) -> Path | None:
        """Return the first path that exists in the folder, compressed or not, or None if no path exists."""
        for path in self.paths:
            for suffix in _ARCHIVES if self.is_archive else _PACKED:
                packed = folder / f"{path}{suffix}"
                if packed.is_file() or (self.is_archive and packed.is_dir()):
                    return packed
        return None


class DatasetFiles:
    """The input files of a dataset, keyed by `RequiredFile.path`."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = dict(paths)
        self._sources: dict[str, Source] = {}

    @classmethod
    def find(cls, folder: Path, files: tuple[RequiredFile, ...]) -> Self:
        """Find the required files in a data folder; raise InputError if any is missing."""
        found = {file: file.find(folder) for file in files}
        missing = [file.path for file, path in found.items() if path is None]
        if missing:
            what = f"the data folder lacks {', '.join(missing[:6])}"
            fix = "download them into this folder, or pass another folder with --data"
            raise InputError("dataset-files", what, where=str(folder), fix=fix)
        return cls({file.path: path for file, path in found.items() if path is not None})

    def source(self, path: str) -> Source:
        """Open a required file, or all files of a required archive or folder."""
        if path not in self._sources:
            self._sources[path] = Source.open(self._paths[path]).require_whole()
        return self._sources[path]

    def entries(self) -> list[InputEntry]:
        """Return the name, size and digest of each file read. The names do not include the data folder."""
        entries: list[InputEntry] = []
        for required, path in self._paths.items():
            if path.is_dir():
                read = [file for file in self.source(required).files if file.was_read]
                entries += [_entry(f"{path.name}/{file.name}", file) for file in read]
            else:
                entries.append(_entry(path.name, InputFile.from_path(path)))
        return entries


def members(source: Source, part: str, pattern: str) -> Source:
    """Return the files of a source that match a pattern below a folder named `part`; raise InputError if there are none.

    >>> files = [InputFile.from_bytes(f"a/{part}/1.txt", b"") for part in ("dev", "test")]
    >>> [file.name for file in members(Source.of_files("a", files), "test", "*.txt").files]
    ['a/test/1.txt']
    """
    found = tuple(file for file in source.matching(pattern) if not part or f"/{part}/" in f"/{file.name}")
    if not found:
        what = f"the archive has no {part}/{pattern}" if part else f"the archive has no {pattern}"
        raise InputError("dataset-files", what, where=source.name, fix="download the archive again")
    return Source(source.name, found)


def _entry(name: str, file: InputFile) -> InputEntry:
    return InputEntry(name=name, bytes=file.size, sha256=file.digest())


@dataclass
class DropCounts:
    """Counts for each split: dropped mentions by reason, and problems found while reading, by problem code."""

    dropped: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    problems: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def drop(self, split: str, reason: str, count: int = 1) -> None:
        """Add `count` dropped mentions."""
        if count:
            self.dropped[split][reason] += count

    def iter_documents(self, split: str, items: Iterable[Item]) -> Iterator[Document]:
        """Yield the documents among the items, and count the problems.

        >>> drops = DropCounts()
        >>> [doc.id for doc in drops.iter_documents("dev", [Problem("1", "corpus-offsets", "what"), Document("1", "fever")])]
        ['1']
        >>> drops.problems["dev"]
        Counter({'corpus-offsets': 1})
        """
        for item in items:
            if isinstance(item, Problem):
                self.problems[split][item.code] += 1
            else:
                yield item

    def with_ids(self, split: str, document: Document) -> Document:
        """Return the document with only the mentions that have an id; count the other mentions as dropped."""
        mentions = tuple(mention for mention in document.mentions if mention.concept_ids)
        self.drop(split, NO_ID, len(document.mentions) - len(mentions))
        return replace(document, mentions=mentions)


Reader = Callable[[DatasetFiles, DropCounts], Iterator[tuple[str, Document]]]
"""Yields (split, document), one split after the other, and counts dropped mentions."""
Dictionary = Callable[[DatasetFiles], tuple[Recipe, dict[str, Source]]]
"""Returns the recipe that builds a knowledge base from the dataset's own dictionary, and the sources the recipe names."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A published corpus and one way to prepare it. `kb`, `protocol`, `dropped` and `licence` are texts shown to users."""

    name: str
    title: str
    files: tuple[RequiredFile, ...]
    read: Reader
    kb: str
    protocol: str
    dropped: str
    licence: str
    splits: tuple[str, ...] = SPLITS
    dictionary: Dictionary | None = None
    restricts_types: bool = False
