"""The same release as a folder and as every kind of archive."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from onym.store.files.source import Source

CONTENT = {
    "META/MRCONSO.RRF": b"one\n" * 1000,
    "META/MRSTY.RRF.gz": gzip.compress(b"two\n"),
    "readme.txt": b"",
    "b/a.obo": b"three",
}
UNPACKED = {**CONTENT, "META/MRSTY.RRF.gz": b"two\n"}


def folder_of(path: Path, content: dict[str, bytes]) -> Path:
    for name, data in content.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def zip_of(path: Path, content: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def tar_of(path: Path, content: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


MAKERS: dict[str, Callable[[Path], Path]] = {
    "folder": lambda path: folder_of(path / "release", CONTENT),
    "zip": lambda path: zip_of(path / "release.zip", CONTENT),
    "stored zip": lambda path: zip_of(path / "release.zip", CONTENT, zipfile.ZIP_STORED),
    "tar": lambda path: tar_of(path / "release.tar", CONTENT),
    "tar.gz": lambda path: tar_of(path / "release.tar.gz", CONTENT, "w:gz"),
}


def contents(source: Source) -> dict[str, bytes]:
    found = {}
    for file in source.files:
        with file.open() as stream:
            found[file.name] = stream.read()
    return found
