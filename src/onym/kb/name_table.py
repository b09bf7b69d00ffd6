"""A hash table of a knowledge base's names, to find all names that occur in many texts at once.

    KB/name-tables/<16 hex digits>/     an artefact, named by the digest of the knowledge base and the option `forms`

It holds the sorted fingerprints (hashes) of all names with their rows, and two bit filters (like Bloom filters): one for whole
names, one for the leading words of longer names. If a bit is not set, no name matches. With `forms` it also holds the other
spellings and numbers of each name, so that inflected names in a text cost nothing more. Callers compare the strings, so hash
collisions are harmless. Small knowledge bases build the table in memory each time. If the folder is not writable, the artefact
is kept in the cache directory, or else in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError, IntegrityError
from onym.kb.knowledge_base import KnowledgeBase
from onym.store.arrays import Strings, corrupt
from onym.store.artefact import Artefact
from onym.store.cache import Verify
from onym.store.derived import Locations, open_derived
from onym.store.stage import Record, Stage
from onym.text.boundaries import words
from onym.text.fingerprints import Fingerprints, Ints, NormalTexts, Numbered, code_points, word_ends
from onym.text.normal import word_key
from onym.text.spelling import FORMS_VERSION, other_forms

KIND, FORMAT, FOLDER = "name-table", 1, "name-tables"
_FEW = 20_000  # below this number of names, building the table is faster than reading a file
_BATCH = 10_000  # names hashed at a time, to save memory
_BITS_EACH = 8  # minimum number of filter bits per name, which keeps false positives rare

_MASKS = np.left_shift(1, np.arange(8)).astype(np.uint8)

Bits = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class NameTable:
    """Sorted fingerprints of names, the row of each name, and the bit filters of names and of their leading words.

    A name has several fingerprints if the table holds the other forms of names too.

    >>> table = NameTable.of(Strings.of(["fever", "yellow fever"]))
    >>> texts = NormalTexts(["High fever.", "Yellow  fever?"])
    >>> first, last, rows = table.find(texts)
    >>> list(zip(first.tolist(), last.tolist(), rows.tolist()))
    [(1, 1, 0), (3, 3, 0), (2, 3, 1)]
    """

    fingerprints: Fingerprints
    rows: npt.NDArray[np.uint32]
    is_name: Bits
    goes_on: Bits

    @classmethod
    def of(cls, names: Strings, *, forms: bool = False) -> NameTable:
        """Build the table of a column of names; with `forms`, also of their other spellings and numbers."""
        goes_on = _Filter(len(names))
        found, owners = [np.zeros(0, dtype=np.uint64)], [np.zeros(0, dtype=np.uint32)]
        for start in range(0, len(names), _BATCH):
            texts = names.to_arrow().slice(start, _BATCH).to_pylist()
            rows = list(range(start, start + len(texts)))
            if forms:
                others = [(form, row) for row, text in zip(rows, texts, strict=True) for form in other_forms(text)]
                texts += [form for form, _ in others]
                rows += [row for _, row in others]
            some, beginnings = _fingerprints(texts)
            found.append(some)
            owners.append(np.array(rows, dtype=np.uint32))
            goes_on.add(beginnings)
        whole = np.concatenate(found)
        is_name = _Filter(len(whole))
        is_name.add(whole)
        order = np.argsort(whole, kind="stable")
        return cls(whole[order], np.concatenate(owners)[order], is_name.bits(), goes_on.bits())

    def find(self, texts: NormalTexts) -> tuple[Ints, Ints, Ints]:
        """Return the word sequences that may be names: indices of the first and the last word, and the row of the name."""
        found = list(self._find(texts))
        first, last, rows = (np.concatenate([each[column] for each in found]) for column in range(3))
        return first, last, rows

    def _find(self, texts: NormalTexts) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield matches of one word, then of two, and so on, as long as the words may begin a longer name."""
        first = last = np.arange(len(texts.starts))
        while True:
            fingerprints = texts.numbered.fingerprints(texts.starts[first], texts.ends[last])
            may_be = np.flatnonzero(_is_set(self.is_name, fingerprints))
            runs, rows = self._rows(fingerprints[may_be])
            yield first[may_be[runs]], last[may_be[runs]], rows
            longer = np.flatnonzero(_is_set(self.goes_on, fingerprints))
            first, last = first[longer], last[longer] + 1
            is_inside = texts.owners[np.minimum(last, len(texts.owners) - 1)] == texts.owners[first]
            is_inside &= last < len(texts.owners)
            first, last = first[is_inside], last[is_inside]
            if not len(first):
                return

    def _rows(self, fingerprints: Fingerprints) -> tuple[Ints, Ints]:
        """Return the matches of fingerprints, as (index of the fingerprint, row of the name); one may match several names."""
        left = np.searchsorted(self.fingerprints, fingerprints)
        counts = np.searchsorted(self.fingerprints, fingerprints, side="right") - left
        before = np.cumsum(counts) - counts
        at = np.repeat(left - before, counts) + np.arange(int(counts.sum()))
        return np.repeat(np.arange(len(fingerprints)), counts), self.rows[at].astype(np.int64)


def open_name_table(kb: KnowledgeBase, *, forms: bool = False) -> NameTable:
    """Open the name table of a knowledge base, or build it if it is missing; `forms` adds other spellings and numbers.

    >>> len(open_name_table(KnowledgeBase.open(getfixture("tiny_kb"))).rows)
    9
    """
    if len(kb.names) < _FEW:
        return NameTable.of(kb.names, forms=forms)
    locations = Locations.of(kb.folder.parent, FOLDER, [kb.digest, str(FORMAT), *_rules_of_forms(forms)])
    try:
        return open_derived(
            locations,
            lambda path: _open(path, kb, verify=kb.verify, forms=forms),
            lambda stage, dest: write_name_table(stage, dest, kb, forms=forms),
        )
    except ConfigError:  # neither the folder nor the cache directory is writable
        return NameTable.of(kb.names, forms=forms)


def _rules_of_forms(forms: bool) -> list[str]:
    """Return what the key of a table has in addition if it holds other forms: the version of their rules."""
    return [f"forms {FORMS_VERSION}"] if forms else []


def write_name_table(stage: Stage, dest: Path, kb: KnowledgeBase, *, forms: bool = False) -> None:
    """Build the table, write it to an open stage and publish it at `dest`."""
    kb.require_intact()
    table = NameTable.of(kb.names, forms=forms)
    stage.write_array("fingerprints", table.fingerprints)
    stage.write_array("rows", table.rows)
    stage.write_array("is-name", table.is_name)
    stage.write_array("goes-on", table.goes_on)
    config = {"kb": kb.digest} | ({"forms": FORMS_VERSION} if forms else {})
    stage.publish(dest, KIND, FORMAT, Record(config, [], {"names": len(table.rows)}))


def _open(folder: Path, kb: KnowledgeBase, *, verify: Verify, forms: bool = False) -> NameTable:
    artefact = Artefact.open(folder, KIND, FORMAT, verify)
    where = str(artefact.folder.parent)
    if artefact.manifest.config.get("kb") != kb.digest:
        what = "the name table belongs to another knowledge base"
        raise IntegrityError("artefact-corrupt", what, where=where, fix="delete the folder; it is rebuilt on next use")
    columns = [artefact.array(name).view(np.ndarray) for name in ("fingerprints", "rows", "is-name", "goes-on")]
    table = NameTable(*columns)
    if artefact.is_new_here:
        _require_sound(table, len(kb.names), where, forms=forms)
        artefact.remember()
    return table


def _require_sound(table: NameTable, count: int, where: str, *, forms: bool = False) -> None:
    """Raise if the columns do not belong to `count` names; only a table with `forms` may have more rows than names."""
    is_whole = len(table.fingerprints) == len(table.rows) and int(table.rows.max(initial=0)) < max(count, 1)
    is_whole &= len(table.rows) >= count if forms else len(table.rows) == count
    is_ordered = bool((table.fingerprints[1:] >= table.fingerprints[:-1]).all())
    has_filters = all(bits.dtype == np.uint8 and len(bits).bit_count() == 1 for bits in (table.is_name, table.goes_on))
    if not (is_whole and is_ordered and has_filters and table.fingerprints.dtype == np.uint64):
        raise corrupt("the columns of the name table are unsorted, inconsistent or of the wrong type", where)


def _fingerprints(texts: Sequence[str]) -> tuple[Fingerprints, Fingerprints]:
    """Return the fingerprints of a batch of names, and those of their leading words (one, two, ...)."""
    codes = code_points("\n".join(texts))
    numbered = Numbered(codes)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    ends = np.cumsum(lengths + 1) - 1
    starts = ends - lengths
    cuts = word_ends(codes)
    owners = np.searchsorted(ends, cuts)
    is_inner = cuts < ends[owners]
    return numbered.fingerprints(starts, ends), numbered.fingerprints(starts[owners[is_inner]], cuts[is_inner])


class _Filter:
    """A Bloom filter with one hash. It has 2**width bits; a fingerprint's `width` highest bits index the bit that it sets."""

    def __init__(self, names: int) -> None:
        self._width = max(6, (names * _BITS_EACH).bit_length())
        self._is_set = np.zeros(1 << self._width, dtype=bool)

    def add(self, fingerprints: Fingerprints) -> None:
        self._is_set[fingerprints >> np.uint64(64 - self._width)] = True

    def bits(self) -> Bits:
        return np.packbits(self._is_set, bitorder="little")


def _is_set(bits: Bits, fingerprints: Fingerprints) -> npt.NDArray[np.bool_]:
    width = len(bits).bit_length() - 1 + 3
    numbers = fingerprints >> np.uint64(64 - width)
    is_set: npt.NDArray[np.bool_] = bits[numbers >> np.uint64(3)] & _MASKS[numbers & np.uint64(7)] != 0
    return is_set


_BYTES = 8  # size of a fingerprint


class WordKeys:
    """Finds names of several words by their `word_key`, which ignores word order, inflection and stop words.

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
        """Return the rows of the names with the same key as a phrase, given as lower-case words; sorted."""
        key = word_key(phrase)
        if " " not in key:
            return []
        wanted = np.uint64(_fingerprint(key))
        first, last = np.searchsorted(self._fingerprints, wanted, "left"), np.searchsorted(self._fingerprints, wanted, "right")
        rows = (int(row) for row in self._rows[first:last])
        return [row for row in rows if key_of(self._kb.names[row]) == key]  # two keys may have one fingerprint


def key_of(name: str) -> str:
    """Return the word key of a normalised name."""
    return word_key(name[start:end] for start, end in words(name))


def _fingerprint(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest(), "little")
