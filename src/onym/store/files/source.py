"""Sources of releases and corpora: a file, a folder, or a zip or tar archive, which is never unpacked to disk.

Sources are untrusted. Names and links that lead out of the source, devices, and overlapping archive members are rejected.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from onym.errors import InputError
from onym.store.files.archives import is_tar, is_zip, tar_files, zip_files
from onym.store.files.input_file import InputFile
from onym.store.files.stream import open_regular
from onym.store.hidden import scratch_folder
from onym.store.limits import DEFAULT_LIMITS, Limits
from onym.store.output import writable


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """A folder entry that is not read. If `error` is None, the entry is redundant: another name leads to the same folder."""

    name: str
    why: str
    error: InputError | None = None


def folder_files(
    folder: Path, limits: Limits = DEFAULT_LIMITS, *, follow_links: bool = False
) -> tuple[list[InputFile], list[SkippedEntry]]:
    """List a folder recursively; return its files and the skipped entries, both sorted by name.

    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "a.txt").write_text("fever")
    >>> (folder / "b.txt").symlink_to("/etc/hostname")
    >>> files, skipped = folder_files(folder)
    >>> [file.name for file in files], [(entry.name, entry.error.code) for entry in skipped]
    (['a.txt'], [('b.txt', 'input-link')])
    """
    listing = _Listing(folder, limits, follow_links=follow_links)
    listing.run()
    return sorted(listing.files, key=lambda file: file.name), sorted(listing.skipped, key=lambda entry: entry.name)


class _Listing:
    """Lists a folder tree. Links to folders are followed last, because most targets are then already listed."""

    def __init__(self, root: Path, limits: Limits, *, follow_links: bool) -> None:
        self.files: list[InputFile] = []
        self.skipped: list[SkippedEntry] = []
        self._root, self._limits, self._follows = root.resolve(), limits, follow_links
        self._folders: list[tuple[Path, str]] = [(self._root, "")]
        self._linked: deque[tuple[Path, str]] = deque()
        self._listed: set[tuple[int, int]] = set()

    def run(self) -> None:
        """Fill `files` and `skipped`."""
        while self._folders or self._linked:
            folder, name = self._folders.pop() if self._folders else self._linked.popleft()
            try:
                self._list(folder, name)
            except OSError as e:
                self._skip(name or folder.name, _unreadable(name or folder.name, e))

    def _list(self, folder: Path, name: str) -> None:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in self._listed:
            self.skipped.append(SkippedEntry(name, "a link to a folder that is read under another name"))
            return
        if not self._may_read(folder):
            self._skip(name, _link_out(name))
            return
        self._listed.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as entries:
            found = [
                (entry.path, f"{name}/{_display_name(entry.name)}" if name else _display_name(entry.name)) for entry in entries
            ]
        for path, its_name in found:
            try:
                self._take(Path(path), its_name)
            except OSError as e:
                self._skip(its_name, _unreadable(its_name, e))

    def _take(self, path: Path, name: str) -> None:
        is_link = path.is_symlink()
        real = Path(os.path.realpath(path)) if is_link else path  # `Path.resolve` raises for a link to itself
        try:
            status = real.stat()
        except FileNotFoundError:
            self._skip(name, InputError("input-missing", "broken link", where=name, fix="remove the link"))
            return
        if stat.S_ISDIR(status.st_mode):
            (self._linked if is_link else self._folders).append((real, name))
        elif not self._may_read(real):
            self._skip(name, _link_out(name))
        elif stat.S_ISREG(status.st_mode):
            self.files.append(InputFile(name, lambda: open_regular(real), status.st_size, self._limits))
        else:
            self._skip(name, InputError("input-missing", "neither a regular file nor a folder", where=name))

    def _may_read(self, real: Path) -> bool:
        return self._follows or real.is_relative_to(self._root)

    def _skip(self, name: str, error: InputError) -> None:
        self.skipped.append(SkippedEntry(name, error.what, error))


def _link_out(name: str) -> InputError:
    what = "the link leads out of the folder"
    return InputError("input-link", what, where=name, fix="copy the file, or add --follow-links if you trust the folder")


def _unreadable(name: str, error: OSError) -> InputError:
    return InputError("input-unreadable", f"cannot be read: {error.strerror or error}", where=name)


def _display_name(name: str) -> str:
    """Return a file name with invalid UTF-8 bytes escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


__all__ = ["InputFile", "SkippedEntry", "Source"]
_ZIPPED_DOCUMENTS = frozenset({".xlsx", ".docx", ".odt", ".ods"})  # zip files that are one document


@dataclass(frozen=True)
class Source:
    """A release or corpus: its files, and the folder entries that were skipped.

    >>> Source.of_files("demo", [InputFile.from_bytes("META/MRCONSO.RRF.gz", b"")]).find("mrconso.rrf").name
    'META/MRCONSO.RRF.gz'
    """

    name: str
    files: tuple[InputFile, ...]
    skipped: tuple[SkippedEntry, ...] = ()

    @classmethod
    def of_files(cls, name: str, files: list[InputFile]) -> Source:
        """Make a source from files, sorted by name."""
        return cls(name, tuple(sorted(files, key=lambda f: f.name)))

    @classmethod
    def open(cls, path: Path | str, limits: Limits = DEFAULT_LIMITS, *, follow_links: bool = False) -> Source:
        """Open a file, folder or archive; links that lead out of a folder are followed only with `follow_links`."""
        path = Path(path)
        if path.is_dir():
            files, skipped = folder_files(path, limits, follow_links=follow_links)
            return cls(path.name, tuple(files), tuple(skipped))
        file = InputFile.from_path(path, limits=limits)
        head = file.head(512)
        if path.suffix.lower() not in _ZIPPED_DOCUMENTS and is_zip(path, head):
            return cls.of_files(path.name, list(zip_files(path, limits)))
        if is_tar(head):
            return cls(path.name, tuple(tar_files(file, limits)))
        return cls(path.name, (file,))

    def under(self, label: str) -> Source:
        """Return the source with a label prefixed to all file names, to distinguish the files of several sources.

        >>> Source.of_files("a", [InputFile.from_bytes("1.txt", b"")]).under("left/a").files[0].name
        'left/a/1.txt'
        """
        if [file.name for file in self.files] == [self.name]:  # a single file, not a folder
            return Source(label, (replace(self.files[0], name=label),))
        files = tuple(replace(file, name=f"{label}/{file.name}") for file in self.files)
        return Source(label, files, tuple(replace(entry, name=f"{label}/{entry.name}") for entry in self.skipped))

    def require_whole(self) -> Source:
        """Return the source itself; if entries were skipped because of errors, raise the first error."""
        for entry in self.skipped:
            if entry.error:
                raise entry.error
        return self

    def matching(self, pattern: str) -> list[InputFile]:
        """Return the files whose base name, without `.gz` or `.zst`, matches a glob pattern, ignoring case."""
        return [file for file in self.files if fnmatch.fnmatchcase(file.stem, pattern.lower())]

    def find(self, pattern: str) -> InputFile | None:
        """Return the first matching file, or None."""
        return next(iter(self.matching(pattern)), None)

    def require(self, pattern: str) -> InputFile:
        """Return the first matching file; raise InputError if there is none."""
        file = self.find(pattern)
        if file is None:
            raise InputError(
                "input-missing", f"the release has no file {pattern}", where=self.name, fix="give the folder that has this file"
            )
        return file


NAME = "stdin.txt"


@contextmanager
def spool(stream: BinaryIO) -> Iterator[Source]:
    """Copy a stream to a temporary file and open it as a source: a single file or an archive.

    >>> import io
    >>> with spool(io.BytesIO(b"High fever.")) as source:
    ...     [(file.name, file.size) for file in source.files]
    [('stdin.txt', 11)]
    """
    with scratch_folder() as folder:
        path = folder / NAME
        with writable(path), path.open("xb") as file:
            shutil.copyfileobj(stream, file)
        yield Source.open(path)


@contextmanager
def copy_to_disk(file: InputFile, *, peek: bool = False) -> Iterator[Path]:
    """Yield the path of a decompressed temporary copy, for libraries that need a path. `peek` is passed to `InputFile.open`."""
    with scratch_folder() as folder:
        path = folder / file.stem
        with file.open(peek=peek) as stream, writable(path), path.open("xb") as copy:
            shutil.copyfileobj(stream, copy)
        yield path
