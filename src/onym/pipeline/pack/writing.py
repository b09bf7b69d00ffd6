"""Writing the file of a pack: artefacts, models and texts one after the other, and last the record that lists them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from onym.errors import ConfigError
from onym.pipeline.pack.record import FILE, FILE_NAME, PackedFile, PackRecord
from onym.store.archive import ArchiveWriter, Content, whole_archive
from onym.store.artefact.reader import artefact_files
from onym.store.models import digest_of_files


class PackWriter:
    """The archive of a pack, and the list of what was written to it."""

    def __init__(self, archive: ArchiveWriter) -> None:
        self._archive = archive
        self.files: dict[str, PackedFile] = {}

    def add(self, name: str, content: Content) -> str:
        """Write a file, and return its SHA-256."""
        if not FILE_NAME.fullmatch(name):
            fix = "rename the file; letters, digits, and . _ - are allowed"
            raise ConfigError("pack-name", "a file has a name that packs cannot hold", where=name, fix=fix)
        written = self._archive.add(name, content)
        self.files[name] = PackedFile(bytes=written.bytes, sha256=written.sha256)
        return written.sha256

    def add_artefact(self, name: str, folder: Path) -> None:
        """Write the current version of an artefact as the folder `name`."""
        for path in artefact_files(folder):
            self.add(f"{name}/{path.as_posix()}", folder / path)

    def add_model(self, name: str, files: Mapping[str, Content]) -> str:
        """Write the files of a model as the folder `name`, and return the digest that a pipeline refers to it by."""
        written = [(each, self.add(f"{name}/{each}", content)) for each, content in files.items()]
        return digest_of_files(sorted(written, key=lambda each: PurePosixPath(each[0])))

    def add_record(self, record: PackRecord) -> None:
        """Write the record, which ends the pack."""
        self._archive.add(FILE, record.to_bytes())


@contextmanager
def whole_pack(path: Path, *, force: bool = False) -> Iterator[PackWriter]:
    """Write a pack at `path`, which appears only when it is complete."""
    with whole_archive(path, force=force) as archive:
        yield PackWriter(archive)
