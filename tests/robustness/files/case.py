"""Definition of a hostile file: how it is made, how a user opens it, and the expected error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from onym.corpora.corpus import read_sources
from onym.corpora.formats import get
from onym.kb import KnowledgeBase, readers
from onym.store.files.source import Source

MB = 1_000_000
Content = Callable[[], bytes | Iterable[bytes]]


@dataclass(frozen=True)
class Case:
    """A hostile file. `make` writes into an empty folder and returns the path to open; `code` is the expected error code."""

    name: str
    code: str
    make: Callable[[Path], Path]
    act: Literal["read", "open", "corpus", "linked"] = "read"
    format: str = ""  # format to read the file as; without it, the file might only be rejected as "not recognised"

    def open(self, path: Path) -> None:
        """Open the file as a user would."""
        act(path, self.act, self.format)


def act(path: Path, what: str, format_name: str) -> None:
    """Read a release or a corpus to the end, or open a knowledge base and read all of it."""
    if what == "open":
        kb = KnowledgeBase.open(path)
        kb.report()
        for _ in kb:
            pass
        return
    source = Source.open(path)
    if what == "linked":
        for _ in get(format_name).read_linked(source):  # type: ignore[attr-defined]
            pass
        return
    if what == "corpus":
        reading = read_sources([source], format_name)
        for _ in reading:
            pass
        reading.require_whole()
        return
    for _ in readers.read(source, format_name or readers.detect(source)):
        pass


def file(name: str, content: Content) -> Callable[[Path], Path]:
    """Return a `make` function that writes one file."""

    def make(folder: Path) -> Path:
        parts = content()
        with (folder / name).open("wb") as out:
            out.writelines([parts] if isinstance(parts, bytes) else parts)
        return folder / name

    return make
