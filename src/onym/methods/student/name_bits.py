"""Marks the tokens of texts that are in names of a knowledge base: input of the student detector.

For each semantic group, a token has six marks: a name of the group begins there, ends there, is there, is there with at least
two tokens, with at least three; and the token is an abbreviation whose long form ends with a name of the group. The marks come
from the name table, so they need no training, and the same model works with any knowledge base.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.kb.name_table import open_name_table
from onym.text.abbreviations import Abbreviations, find_forms
from onym.text.fingerprints import Ints, NormalTexts
from onym.text.tokens import WordTokens

KINDS = 6
"""Number of marks per group."""
_BEGINS, _ENDS, _INSIDE, _TWO, _THREE, _SHORT = range(KINDS)
_MIN_LENGTH = 2  # bytes of a name
_MAX_GROUPS = 64
NO_GROUP = ""
"""Stands for the concepts without a group."""
Bits = npt.NDArray[np.uint8]
Masks = npt.NDArray[np.uint64]


def groups_in(kb: KnowledgeBase) -> tuple[str, ...]:
    """Return the semantic groups of a knowledge base; with `NO_GROUP` if a concept has none.

    >>> groups_in(KnowledgeBase.open(getfixture("tiny_kb")))
    ('',)
    """
    is_grouped = np.diff(kb.concept_groups.offsets.astype(np.int64)) > 0
    found = [kb.groups[row] for row in range(len(kb.groups))]
    return (*found, *([] if is_grouped.all() else [NO_GROUP]))[:_MAX_GROUPS]


class NameBits:
    """Marks tokens in names of a knowledge base. Only `groups` are marked: those that a model was trained with.

    >>> bits = NameBits(KnowledgeBase.open(getfixture("tiny_kb")), [""])
    >>> texts = ["A heart attack (HA)."]
    >>> bits.mark(WordTokens(texts), texts, [Abbreviations.from_text(text) for text in texts])[:5].tolist()
    [[0, 0, 0, 0, 0, 0], [1, 0, 1, 1, 0, 0], [0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    """

    def __init__(self, kb: KnowledgeBase, groups: Sequence[str]) -> None:
        self._kb, self._count = kb, len(groups)
        self._table = open_name_table(kb)
        number = {name: row for row, name in enumerate(groups)}
        known = [number.get(kb.groups[row], -1) for row in range(len(kb.groups))]
        self._of_group = np.array([1 << row if row >= 0 else 0 for row in known], dtype=np.uint64)
        self._ungrouped = np.uint64(1 << number[NO_GROUP]) if NO_GROUP in number else np.uint64(0)

    def mark(self, tokens: WordTokens, texts: Sequence[str], abbreviations: Sequence[Abbreviations]) -> Bits:
        """Return the marks of all tokens. *Shape:* (tokens, KINDS * groups), kind by kind."""
        first, last, masks = self._names(tokens, texts)
        marks = np.zeros((KINDS, len(tokens)), dtype=np.uint64)
        np.bitwise_or.at(marks[_BEGINS], first, masks)
        np.bitwise_or.at(marks[_ENDS], last, masks)
        counts = last - first + 1
        for kind, least in ((_INSIDE, 1), (_TWO, 2), (_THREE, 3)):
            some = np.flatnonzero(counts >= least)
            inside, lengths = first[some], counts[some]
            at = np.repeat(inside - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
            np.bitwise_or.at(marks[kind], at, np.repeat(masks[some], lengths))
        for start, end, mask in _short_forms(tokens, texts, abbreviations, marks[_ENDS]):
            marks[_SHORT, start:end] |= mask
        return self._unpack(marks)

    def _names(self, tokens: WordTokens, texts: Sequence[str]) -> tuple[Ints, Ints, Masks]:
        """Return the first and the last token of each name, and its groups. Hashes may collide in rare cases."""
        normal = NormalTexts(texts)
        first, last, rows = self._table.find(normal)
        begins = tokens.begins[normal.owners[first]]
        start_tokens, end_tokens = _token_at(tokens)
        starts, ends = start_tokens[begins + normal.raw_starts[first]], end_tokens[begins + normal.raw_ends[last]]
        lengths = np.diff(self._kb.names.offsets[np.stack([rows, rows + 1])].astype(np.int64), axis=0)[0]
        kept = np.flatnonzero((starts >= 0) & (ends >= 0) & (lengths >= _MIN_LENGTH))
        return starts[kept], ends[kept], self._masks(rows[kept])

    def _masks(self, names: Ints) -> Masks:
        """Return the groups of names as bits."""
        distinct, which = np.unique(names, return_inverse=True)
        concepts = self._kb.name_concepts.take(distinct)
        groups = self._kb.concept_groups.take(concepts.values.astype(np.int64))
        of_concepts = _union(groups.offsets, self._of_group[groups.values])
        of_concepts[np.diff(groups.offsets) == 0] = self._ungrouped
        found: Masks = _union(concepts.offsets, of_concepts)[which]
        return found

    def _unpack(self, marks: Masks) -> Bits:
        raw = np.ascontiguousarray(marks).view(np.uint8).reshape(KINDS, marks.shape[1], 8)
        bits = np.unpackbits(raw[:, :, : (self._count + 7) // 8], axis=2, count=self._count, bitorder="little")
        return np.ascontiguousarray(bits.transpose(1, 0, 2)).reshape(marks.shape[1], KINDS * self._count)


def _token_at(tokens: WordTokens) -> tuple[Ints, Ints]:
    """Return the token that starts, and the token that ends, at each offset of the joined texts; -1 if there is none."""
    start_tokens, end_tokens = (np.full(int(tokens.begins[-1]) + 1, -1, dtype=np.int64) for _ in range(2))
    begins, rows = tokens.begins[tokens.owners], np.arange(len(tokens))
    start_tokens[begins + tokens.starts], end_tokens[begins + tokens.ends] = rows, rows
    return start_tokens, end_tokens


def _union(offsets: npt.NDArray[Any], masks: Masks) -> Masks:
    """Return the union of each list of masks."""
    found = np.zeros(len(offsets) - 1, dtype=np.uint64)
    has_some = np.flatnonzero(np.diff(offsets))
    if len(has_some):
        found[has_some] = np.bitwise_or.reduceat(masks, offsets[:-1][has_some])
    return found


def _short_forms(
    tokens: WordTokens, texts: Sequence[str], abbreviations: Sequence[Abbreviations], ends: Masks
) -> Iterator[tuple[int, int, np.uint64]]:
    """Yield the tokens of defined abbreviations, as (first, last + 1), and the groups of the name that ends their long form."""
    for row, (text, known) in enumerate(zip(texts, abbreviations, strict=True)):
        low, high = int(tokens.bounds[row]), int(tokens.bounds[row + 1])
        starts, stops = tokens.starts[low:high], tokens.ends[low:high]
        masks: dict[str, np.uint64] = {}  # of short forms, and of their plurals with `s`
        for each in known.definitions:
            last = int(np.searchsorted(stops, each.long_end))
            if last < high - low and stops[last] == each.long_end and (mask := ends[low + last]):
                for form in (each.short, f"{each.short}s"):
                    masks[form] = masks.get(form, np.uint64(0)) | mask
        for start, form in find_forms(text, masks):
            end = start + len(form)
            first, after = np.searchsorted(starts, start), np.searchsorted(stops, end)
            if first < after + 1 <= high - low and starts[first] == start and stops[after] == end:  # not inside a word
                yield low + int(first), low + int(after) + 1, masks[form]
