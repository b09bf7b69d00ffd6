"""The names of a knowledge base by the key of their words: found in any order, and in singular or plural.

Only names of several words that count are here; of the others there is no other order. It takes some 10 microseconds a name to
make, and twelve bytes to keep.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from onym.kb.knowledge_base import KnowledgeBase
from onym.text.boundaries import words
from onym.text.word_key import word_key

_BYTES = 8  # of a fingerprint


class WordKeys:
    """Fingerprints of the keys of names, sorted, with the row of each name.

    >>> from onym.kb import KnowledgeBase
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> keys = WordKeys(kb)
    >>> [kb.names[row] for row in keys.find(["attacks", "of", "the", "heart"])]
    ['heart attack']
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        keys = ((key_of(kb.names[row]), row) for row in range(len(kb.names)))
        found = [(_fingerprint(key), row) for key, row in keys if " " in key]
        fingerprints = np.array([fingerprint for fingerprint, _ in found], dtype=np.uint64)
        order = np.argsort(fingerprints, kind="stable")
        self._fingerprints = fingerprints[order]
        self._rows: npt.NDArray[np.uint32] = np.array([row for _, row in found], dtype=np.uint32)[order]

    def find(self, phrase: Sequence[str]) -> list[int]:
        """Return the rows of the names that have the words of a phrase, in lower case, in the order of their rows."""
        key = word_key(phrase)
        if " " not in key:
            return []
        wanted = np.uint64(_fingerprint(key))
        first, last = np.searchsorted(self._fingerprints, wanted, "left"), np.searchsorted(self._fingerprints, wanted, "right")
        rows = (int(row) for row in self._rows[first:last])
        return [row for row in rows if key_of(self._kb.names[row]) == key]  # two keys may have one fingerprint


def key_of(name: str) -> str:
    """Return the key of a normalised name."""
    return word_key(name[start:end] for start, end in words(name))


def _fingerprint(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest(), "little")
