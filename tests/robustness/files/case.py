"""What a hostile file is: how it is made, how a user would open it, and the error that must answer."""

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
    """`make` writes into an empty folder and returns the path that the user opens; `code` is the error's."""

    name: str
    code: str
    make: Callable[[Path], Path]
    act: Literal["read", "open", "corpus", "linked"] = "read"
    format: str = ""  # said by the user, where the file could hide behind "not recognised"

    def open(self, path: Path) -> None:
        """Do with the file what a user would do."""
        act(path, self.act, self.format)


def act(path: Path, what: str, format_name: str) -> None:
    """Read a release or a corpus to its end, or open a knowledge base and look at all of it."""
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
    """Return a maker of one file."""

    def make(folder: Path) -> Path:
        parts = content()
        with (folder / name).open("wb") as out:
            out.writelines([parts] if isinstance(parts, bytes) else parts)
        return folder / name

    return make
