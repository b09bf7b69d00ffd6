"""The files of a dataset, looked up in a data folder by their usual path or the end of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Self

from onym.errors import InputError
from onym.store.artefact import InputEntry
from onym.store.files.source import InputFile, Source

_PACKED = ("", ".gz", ".zst")
_ARCHIVES = ("", ".tar.gz", ".tgz", ".zip", ".tar")


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


class Inputs:
    """Files of a dataset that are there, by the names that its reader has for them."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = dict(paths)
        self._sources: dict[str, Source] = {}

    @classmethod
    def found(cls, folder: Path, files: tuple[RequiredFile, ...]) -> Self:
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
