"""The files of a benchmark in a person's data folder, wherever along its usual path that folder begins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from onym.errors import InputError
from onym.store.artefact.manifest import InputEntry
from onym.store.files.source import InputFile, Source

_PACKED = ("", ".gz", ".zst")
_ARCHIVES = ("", ".tar.gz", ".tgz", ".zip", ".tar")


@dataclass(frozen=True, slots=True)
class Need:
    """A file by its usual path in a data folder, or an archive or folder by its name without `.zip` or `.tar.gz`.

    Leading folders of the path may be missing, down to its last `least` parts.

    >>> Need("bc5cdr/CDR_TestSet.PubTator.txt").places
    ('bc5cdr/CDR_TestSet.PubTator.txt', 'CDR_TestSet.PubTator.txt')
    """

    path: str
    is_archive: bool = False
    least: int = 1

    @property
    def places(self) -> tuple[str, ...]:
        """Where to look, the longest path first."""
        parts = PurePosixPath(self.path).parts
        return tuple("/".join(parts[start:]) for start in range(len(parts) - self.least + 1))

    def find(self, folder: Path) -> Path | None:
        """Return the file, archive or folder that is there."""
        for place in self.places:
            for suffix in _ARCHIVES if self.is_archive else _PACKED:
                path = folder / f"{place}{suffix}"
                if path.is_file() or (self.is_archive and path.is_dir()):
                    return path
        return None


class Inputs:
    """The files that were found, each by the path of its need."""

    def __init__(self, folder: Path, needs: tuple[Need, ...]) -> None:
        found = {need: need.find(folder) for need in needs}
        self._paths = {need.path: path for need, path in found.items() if path is not None}
        missing = [need.path for need, path in found.items() if path is None]
        if missing:
            what = f"the data folder lacks {', '.join(missing[:6])}"
            fix = "fetch them and put them there, or name another folder with --data"
            raise InputError("benchmark-files", what, where=str(folder), fix=fix)
        self._sources: dict[str, Source] = {}

    def source(self, path: str) -> Source:
        """Return what was found for a need: one file, or all files of an archive or a folder."""
        if path not in self._sources:
            self._sources[path] = Source.open(self._paths[path])
        return self._sources[path]

    def entries(self) -> list[InputEntry]:
        """Return what was read, by the names of the files alone: the same wherever the data folder is."""
        entries: list[InputEntry] = []
        for place, path in self._paths.items():
            if path.is_dir():
                read = [file for file in self.source(place).files if file.was_read]
                entries += [_entry(f"{path.name}/{file.name}", file) for file in read]
            else:
                entries.append(_entry(path.name, InputFile.from_path(path)))
        return entries


def members(source: Source, part: str, pattern: str) -> Source:
    """Return the files below a folder named `part`, anywhere in a source, that match a pattern; there must be some.

    >>> files = [InputFile.from_bytes(f"a/{part}/1.txt", b"") for part in ("dev", "test")]
    >>> [file.name for file in members(Source.of_files("a", files), "test", "*.txt").files]
    ['a/test/1.txt']
    """
    found = tuple(file for file in source.matching(pattern) if not part or f"/{part}/" in f"/{file.name}")
    if not found:
        what = f"there is no {part}/{pattern}" if part else f"there is no {pattern}"
        raise InputError("benchmark-files", what, where=source.name, fix="fetch it again, whole")
    return Source(source.name, found)


def _entry(name: str, file: InputFile) -> InputEntry:
    return InputEntry(name=name, bytes=file.size, sha256=file.digest())
