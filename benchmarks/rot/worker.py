"""A process that reads artefacts of which one bit is wrong at a time: `python -m benchmarks.rot.worker FOLDER`.

It takes lines of JSON, `[what, file, byte, bit]`, and answers each by a line: how the reader ended that trusts what the machine
remembers, and how the one that hashes everything.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.rot.artefacts import artefact_folders
from benchmarks.rot.reading import read, read_kb, walk
from onym.errors import OnymError
from onym.kb import KnowledgeBase
from onym.store import artefact as verified
from onym.store.artefact import Manifest
from onym.trie import open_trie


def main(folder: Path) -> None:
    folders = artefact_folders(folder)
    for what, path in folders.items():
        read(what, path, "once")
    open_before = {
        "kb": partial(read_kb, KnowledgeBase.open(folders["kb"])),
        "trie": partial(walk, open_trie(folders["trie"])),
    }
    print("ready", flush=True)
    for line in sys.stdin:
        what, name, at, bit = json.loads(line)
        with Flipped(folders[what], name, at, bit):
            found = [_outcome(partial(read, what, folders[what], "once"))]
            found += [_outcome(open_before[what])] if what in open_before else []
            full = _outcome(partial(read, what, folders[what], "full"))
        print(json.dumps([found, full]), flush=True)


class Flipped:
    """One bit of an artefact's file changed, while this machine remembers that it verified these very files."""

    def __init__(self, folder: Path, name: str, at: int, bit: int) -> None:
        self._folder, self._path, self._at, self._bit = folder, folder / name, at, bit
        self._version = folder / (folder / "CURRENT").read_text().strip()
        self._manifest = Manifest.from_bytes((self._version / "manifest.json").read_bytes(), where="")

    def __enter__(self) -> None:
        self._flip()

    def __exit__(self, *_: object) -> None:
        self._flip()

    def _flip(self) -> None:
        before = self._path.stat()
        with self._path.open("r+b", buffering=0) as file:
            value = os.pread(file.fileno(), 1, self._at)[0]
            os.pwrite(file.fileno(), bytes([value ^ 1 << self._bit]), self._at)
        os.utime(self._path, ns=(before.st_atime_ns, before.st_mtime_ns))
        verified.remember(self._version, verified.state_of(self._version, self._manifest))  # as a disk does: no time changes


def _outcome(act: Callable[[], None]) -> str:
    """Return how a reader ended: answered, the code of its error, or what must not be."""
    try:
        act()
    except OnymError as e:
        return e.code
    except BaseException as e:  # whatever it is, it is counted
        return f"crash: {type(e).__name__}: {e}"
    return "answered"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
