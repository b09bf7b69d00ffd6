"""Tables of names by key: an artefact that is derived from a knowledge base on first use.

    KB/<folder>/<16 hex digits>/      an artefact, named by the digest of the knowledge base and the version of the keys

If the folder is not writable, the artefact is kept in the cache directory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from onym.kb import KnowledgeBase
from onym.store.arrays import Ragged, Strings
from onym.store.artefact import Artefact
from onym.store.derived import Locations, open_derived
from onym.store.stage import Record, Stage

NamesByKey = Mapping[str, Sequence[int]]
"""Rows of names by key."""


class NameKeys:
    """Names of a knowledge base by key, sorted."""

    def __init__(self, keys: Strings, names: Ragged) -> None:
        self.keys, self.names = keys, names

    @classmethod
    def open(cls, kb: KnowledgeBase, kind: str, version: int, collect: Callable[[KnowledgeBase], NamesByKey]) -> NameKeys:
        """Open the table of this kind; `collect` returns its keys if it must be built. Raise `version` if the keys change."""
        locations = Locations.of(kb.folder, kind, [kb.digest, str(version)])

        def open_keys(folder: Path) -> NameKeys:
            artefact = Artefact.open(folder, kind, _FORMAT, kb.verify)
            keys, rows = artefact.strings("keys"), artefact.read_ragged("key.names", len(kb.names))
            if artefact.is_new_here:
                keys.require_sound("keys")
                rows.require_sound("key.names")
                artefact.remember()
            return cls(keys, rows)

        return open_derived(locations, open_keys, lambda stage, dest: _build(kb, kind, collect(kb), stage, dest))

    def find(self, key: str) -> list[int]:
        """Return the rows of the names with a key."""
        row = self.keys.find(key)
        return [int(name) for name in self.names[row]] if row >= 0 else []

    def starting_with(self, start: str, most: int) -> list[int]:
        """Return the rows of the names whose key begins with `start`, of at most `most` keys in sorted order."""
        data, found = start.encode(), list[int]()
        first = self.keys.lower_bound(data)
        for row in range(first, min(first + most, len(self.keys))):
            if not self.keys.bytes_at(row).startswith(data):
                break
            found += [int(name) for name in self.names[row]]
        return found


_FORMAT = 1


def _build(kb: KnowledgeBase, kind: str, names_of: NamesByKey, stage: Stage, dest: Path) -> None:
    keys = sorted(names_of, key=str.encode)
    offsets = np.cumsum([0, *(len(names_of[key]) for key in keys)], dtype=np.int64)
    values = np.array([row for key in keys for row in names_of[key]], dtype=np.uint32)
    stage.write_strings("keys", Strings.of(keys))
    stage.write_ragged("key.names", offsets, values)
    stage.publish(dest, kind, _FORMAT, Record({"kb": kb.digest}, [], {"keys": len(keys)}))
