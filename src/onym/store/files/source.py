"""Where a release or a corpus is: one file, a folder, or a zip/tar archive, read member by member and never unpacked to disk.

It is untrusted: names that climb out of it, links that do, devices and overlapping members are refused.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, replace
from pathlib import Path

from onym.errors import InputError
from onym.store.files.folder import SkippedEntry, folder_files
from onym.store.files.input_file import InputFile
from onym.store.files.tar import is_tar, tar_files
from onym.store.files.zip import is_zip, zip_files
from onym.store.limits import DEFAULT_LIMITS, Limits

__all__ = ["InputFile", "SkippedEntry", "Source"]


@dataclass(frozen=True)
class Source:
    """A release or a corpus: the files in it, and the entries of a folder that are not read.

    >>> Source.of_files("demo", [InputFile.from_bytes("META/MRCONSO.RRF.gz", b"")]).find("mrconso.rrf").name
    'META/MRCONSO.RRF.gz'
    """

    name: str
    files: tuple[InputFile, ...]
    skipped: tuple[SkippedEntry, ...] = ()

    @classmethod
    def of_files(cls, name: str, files: list[InputFile]) -> Source:
        """Make a release of files, in the order of their names."""
        return cls(name, tuple(sorted(files, key=lambda f: f.name)))

    @classmethod
    def open(cls, path: Path | str, limits: Limits = DEFAULT_LIMITS, *, follow_links: bool = False) -> Source:
        """Look into a file, a folder or an archive; links out of a folder are followed only if asked for."""
        path = Path(path)
        if path.is_dir():
            files, skipped = folder_files(path, limits, follow_links=follow_links)
            return cls(path.name, tuple(files), tuple(skipped))
        file = InputFile.from_path(path, limits=limits)
        with file.open() as stream:
            head = stream.read(512)
        if is_zip(path, head):
            return cls.of_files(path.name, list(zip_files(path, limits)))
        if is_tar(head):
            return cls(path.name, tuple(tar_files(file, limits)))
        return cls(path.name, (file,))

    def under(self, label: str) -> Source:
        """Return the same source with a label before all names: it tells the files of several sources apart.

        >>> Source.of_files("a", [InputFile.from_bytes("1.txt", b"")]).under("left/a").files[0].name
        'left/a/1.txt'
        """
        if [file.name for file in self.files] == [self.name]:  # one file, not those of a folder
            return Source(label, (replace(self.files[0], name=label),))
        files = tuple(replace(file, name=f"{label}/{file.name}") for file in self.files)
        return Source(label, files, tuple(replace(entry, name=f"{label}/{entry.name}") for entry in self.skipped))

    def require_whole(self) -> Source:
        """Return the source itself, or refuse it if an entry of its folder cannot be read."""
        for entry in self.skipped:
            if entry.error:
                raise entry.error
        return self

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
