"""Where a release is: one file, a folder, or a zip/tar archive, read member by member and never unpacked to disk.

A release is untrusted: names that climb out of it, links, devices and overlapping members are refused.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from onym.errors import InputError
from onym.store.files.input_file import InputFile
from onym.store.files.member import require_few
from onym.store.files.tar import is_tar, tar_files
from onym.store.files.zip import is_zip, zip_files
from onym.store.limits import DEFAULT_LIMITS, Limits

__all__ = ["InputFile", "Source"]


@dataclass(frozen=True)
class Source:
    """A release: the files in it, found by name wherever they lie inside.

    >>> Source.of_files("demo", [InputFile.from_bytes("META/MRCONSO.RRF.gz", b"")]).find("mrconso.rrf").name
    'META/MRCONSO.RRF.gz'
    """

    name: str
    files: tuple[InputFile, ...]

    @classmethod
    def of_files(cls, name: str, files: list[InputFile]) -> Source:
        """Make a release of files, in the order of their names."""
        return cls(name, tuple(sorted(files, key=lambda f: f.name)))

    @classmethod
    def open(cls, path: Path | str, limits: Limits = DEFAULT_LIMITS) -> Source:
        """Look into a file, a folder or an archive."""
        path = Path(path)
        if path.is_dir():
            return cls.of_files(path.name, list(_folder_files(path, limits)))
        file = InputFile.from_path(path, limits=limits)
        with file.open() as stream:
            head = stream.read(512)
        if is_zip(path, head):
            return cls.of_files(path.name, list(zip_files(path, limits)))
        if is_tar(head):
            return cls(path.name, tuple(tar_files(file, limits)))
        return cls(path.name, (file,))

    def matching(self, pattern: str) -> list[InputFile]:
        """Return the files whose base name, less `.gz` or `.zst`, matches a shell pattern in any case."""
        return [file for file in self.files if fnmatch.fnmatchcase(file.stem, pattern.lower())]

    def find(self, pattern: str) -> InputFile | None:
        """Return the first matching file, or None."""
        return next(iter(self.matching(pattern)), None)

    def require(self, pattern: str) -> InputFile:
        """Return the first matching file, or refuse the release."""
        file = self.find(pattern)
        if file is None:
            raise InputError("input-missing", f"the release has no {pattern}", where=self.name, fix="name its folder")
        return file


def _folder_files(folder: Path, limits: Limits) -> Iterator[InputFile]:
    paths = list(islice((path for path in folder.rglob("*") if path.is_file()), limits.archive_members + 1))
    require_few(len(paths), folder.name, limits)
    for path in sorted(paths):
        yield InputFile.from_path(path, name=path.relative_to(folder).as_posix(), limits=limits)
