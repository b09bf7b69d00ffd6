"""What a dataset is made of: the files it needs, how they are read, and counts of what the preparation drops.

Files are looked up in a data folder by their usual path or the end of it.
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
"""The splits in reading order: train comes first, so that the others can be compared with it."""


@dataclass(frozen=True, slots=True)
class RequiredFile:
    """A file by its usual path in a data folder, or an archive or folder by its name without `.zip` or `.tar.gz`.

    Leading folders of the path may be missing, down to its last `min_parts` parts.

    >>> RequiredFile("bc5cdr/CDR_TestSet.PubTator.txt").paths
    ('bc5cdr/CDR_TestSet.PubTator.txt', 'CDR_TestSet.PubTator.txt')
    """

    path: str
    is_archive: bool = False
    min_parts: int = 1

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths to try, the longest first."""
        parts = PurePosixPath(self.path).parts
        return tuple("/".join(parts[start:]) for start in range(len(parts) - self.min_parts + 1))

    def find(self, folder: Path) -> Path | None:
        """Return the first of the paths that exists in a folder, whatever way it is packed."""
        for path in self.paths:
            for suffix in _ARCHIVES if self.is_archive else _PACKED:
                packed = folder / f"{path}{suffix}"
                if packed.is_file() or (self.is_archive and packed.is_dir()):
                    return packed
        return None


class DatasetFiles:
    """Files of a dataset that are there, by the names that its reader has for them."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = dict(paths)
        self._sources: dict[str, Source] = {}

    @classmethod
    def find(cls, folder: Path, files: tuple[RequiredFile, ...]) -> Self:
        """Look required files up in a data folder."""
        found = {file: file.find(folder) for file in files}
        missing = [file.path for file, path in found.items() if path is None]
        if missing:
            what = f"the data folder lacks {', '.join(missing[:6])}"
            fix = "download them into it, or name another folder with --data"
            raise InputError("dataset-files", what, where=str(folder), fix=fix)
        return cls({file.path: path for file, path in found.items() if path is not None})

    def source(self, path: str) -> Source:
        """Return a required file, opened: one file, or all files of an archive or a folder."""
        if path not in self._sources:
            self._sources[path] = Source.open(self._paths[path]).require_whole()
        return self._sources[path]

    def entries(self) -> list[InputEntry]:
        """Return size and digest of each file that was read, by its name alone: independent of where the data folder is."""
        entries: list[InputEntry] = []
        for required, path in self._paths.items():
            if path.is_dir():
                read = [file for file in self.source(required).files if file.was_read]
                entries += [_entry(f"{path.name}/{file.name}", file) for file in read]
            else:
                entries.append(_entry(path.name, InputFile.from_path(path)))
        return entries


def members(source: Source, part: str, pattern: str) -> Source:
    """Return the files of a source that are below a folder named `part` and match a pattern; none is an error.

    >>> files = [InputFile.from_bytes(f"a/{part}/1.txt", b"") for part in ("dev", "test")]
    >>> [file.name for file in members(Source.of_files("a", files), "test", "*.txt").files]
    ['a/test/1.txt']
    """
    found = tuple(file for file in source.matching(pattern) if not part or f"/{part}/" in f"/{file.name}")
    if not found:
        what = f"there is no {part}/{pattern}" if part else f"there is no {pattern}"
        raise InputError("dataset-files", what, where=source.name, fix="download it again")
    return Source(source.name, found)


def _entry(name: str, file: InputFile) -> InputEntry:
    return InputEntry(name=name, bytes=file.size, sha256=file.digest())


@dataclass
class DropCounts:
    """Counts of dropped mentions by reason, and of the problems that reading found by their codes."""

    dropped: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    problems: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def drop(self, split: str, reason: str, count: int = 1) -> None:
        """Count mentions that were dropped."""
        if count:
            self.dropped[split][reason] += count

    def iter_documents(self, split: str, items: Iterable[Item]) -> Iterator[Document]:
        """Yield the documents; count the problems between them.

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
        """Return a document without the mentions that have no id."""
        mentions = tuple(mention for mention in document.mentions if mention.concept_ids)
        self.drop(split, NO_ID, len(document.mentions) - len(mentions))
        return replace(document, mentions=mentions)


Reader = Callable[[DatasetFiles, DropCounts], Iterator[tuple[str, Document]]]
"""Yields each document with its split, one split after the other, and counts what it leaves out."""
Dictionary = Callable[[DatasetFiles], tuple[Recipe, dict[str, Source]]]
"""Returns how a dataset's own dictionary becomes a knowledge base: a recipe, and the sources that it names."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """One preparation of one corpus. `kb`, `protocol`, `dropped` and `licence` are descriptions for readers."""

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
