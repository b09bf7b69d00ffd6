"""Filters names that are too common to be mentions, and finds names with their words in another order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from unicodedata import east_asian_width

import numpy as np
import numpy.typing as npt

from onym.detect.base import RejectionReason
from onym.kb import KnowledgeBase
from onym.kb.name_table import WordKeys
from onym.kb.ranking import ConceptMask
from onym.text.abbreviations import FUNCTION_WORDS
from onym.text.boundaries import words
from onym.text.normal import SMALL_WORDS

CACHE_SIZE = 200_000
"""Number of cached look-ups of names and prefixes."""
_MAX_WORDS = 8
_JOINS = frozenset((" ", "-"))  # characters allowed between two words; not a comma, which may separate list items


class ReorderedNames:
    """Finds the names of a knowledge base with their words in any order.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> text = "two attacks of the heart, attack"
    >>> [(text[start:end], kb.names[row]) for start, end, row in ReorderedNames(kb).find(text)]
    [('attacks of the heart', 'heart attack')]
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        keys = WordKeys(kb)
        self._look_up = lru_cache(CACHE_SIZE)(keys.find)

    def find(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield (start, end, row) for each phrase of a normalised text that has the words of a name, in any order."""
        found = [(start, end, text[start:end]) for start, end in words(text)]
        for first, (start, _, word) in enumerate(found):
            if word in SMALL_WORDS:
                continue
            phrase = [word]
            for (_, before, _), (after, end, more) in zip(found[first:], found[first + 1 : first + _MAX_WORDS], strict=False):
                if text[before:after] not in _JOINS:
                    break
                phrase.append(more)
                if more not in SMALL_WORDS:
                    for row in self._look_up(tuple(phrase)):
                        yield start, end, row


# A word is too general to be a mention if at least _GENERAL names, and at least one in _ONE_IN of all names, end with it.
_GENERAL = 100
_ONE_IN = 400
_SPACE = ord(" ")
_BASE = 0x9E3779B97F4A7C15  # multiplier of the hash; any odd number will do
_LAST, _BUCKETS = 4, 20  # the pre-filter hashes the last 4 bytes of a word to 20 bits

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


class NameFilter:
    """Decides whether a surface that matches a name is a mention. Concepts that are not in `only` are ignored.

    Always rejected: names with fewer than `min_length` characters, names without a letter, function words, and single words
    that are the last word of at least one in 400 names. Abbreviations must be spelt exactly as in a source: these are names
    of up to `case_sensitive_below` letters and digits that all sources write with a capital or digit after the first letter.

    >>> names = NameFilter(KnowledgeBase.open(getfixture("tiny_kb")), min_length=2)
    >>> mi, fever = names.kb.find("mi"), names.kb.find("fever")
    >>> names.reject(mi, "MI"), names.reject(mi, "Mi"), names.reject(fever, "FEVER")
    (None, 'other-spelling', None)
    """

    def __init__(
        self, kb: KnowledgeBase, *, min_length: int = 3, case_sensitive_below: int = 4, only: ConceptMask | None = None
    ) -> None:
        self.kb = kb
        self._min_length, self._case_sensitive_below, self._only = min_length, case_sensitive_below, only
        self._min_general = max(_GENERAL, len(kb.names) // _ONE_IN)
        self._rule = lru_cache(CACHE_SIZE)(self._find_rule)

    def reject(self, name: int, surface: str) -> RejectionReason | None:
        """Return why `surface` is not a mention of the name; None if it is a mention."""
        forms_allowed, reason = self._rule(name)
        return None if forms_allowed is None or _bare(surface) in forms_allowed else reason

    def describe(self, name: int, reason: RejectionReason) -> str:
        """Explain a reason returned by `reject` in words."""
        return {
            "too-short": f"the name has fewer than {self._min_length} characters (detector option min_length)",
            "no-letter": "the name has no letter",
            "too-general": f"too general: at least {self._min_general:,} names of the knowledge base end with this word",
            "function-word": "the name is an ordinary function word",
            "other-spelling": f"the knowledge base writes this abbreviation {' or '.join(sorted(set(self._forms(name))))}",
        }[reason]

    @cached_property
    def general(self) -> frozenset[str]:
        """The words that are too general to be mentions, because very many names end with them."""
        names, least = self.kb.names, self._min_general
        data, ends = names.data.view(np.ndarray), names.offsets.astype(np.int64)
        spaces = np.concatenate(([-1], np.flatnonzero(data == _SPACE)))
        starts = spaces[np.searchsorted(spaces, ends[1:]) - 1] + 1  # start of the last word of each name
        has_more = starts > ends[:-1]
        rows = np.flatnonzero(has_more)
        rows = rows[_may_be_frequent(data, starts[rows], ends[1:][rows], least)]
        hashes = _hashes(data, starts[rows], ends[1:][rows])
        _, numbers, counts = np.unique(hashes, return_index=True, return_counts=True)
        return frozenset(names[int(row)].rpartition(" ")[2] for row in rows[numbers[counts >= least]])

    def _find_rule(self, name: int) -> tuple[frozenset[str] | None, RejectionReason]:
        """Return the allowed spellings of a name (None means all, empty means none), and the reason for rejecting others."""
        text = self.kb.names[name]
        if _width(text) < self._min_length:
            return frozenset(), "too-short"
        if not any(map(str.isalpha, text)):
            return frozenset(), "no-letter"
        if text in self.general:
            return frozenset(), "too-general"
        forms = {_bare(form) for form in self._forms(name)} if len(_bare(text)) <= self._case_sensitive_below else {""}
        if all(map(_is_short_form, forms)):
            return frozenset(forms), "other-spelling"
        return frozenset() if text in FUNCTION_WORDS else None, "function-word"

    def _forms(self, name: int) -> list[str]:
        """Return the original spellings of a name in the sources."""
        kb, found = self.kb, []
        for concept in kb.name_concepts[name].tolist():
            if self._only is None or self._only[concept]:
                first = int(kb.concept_terms[concept])
                found += [kb.term_forms[first + row] for row in (kb.names_of(concept) == name).nonzero()[0].tolist()]
        return found


def _may_be_frequent(data: Bytes, starts: Ints, ends: Ints, least: int) -> npt.NDArray[np.bool_]:
    """Return a mask of byte strings that may occur at least `least` times, judged by their length and final bytes.

    A fast pre-filter, so that only a few strings have to be hashed completely.
    """
    numbers = (ends - starts).astype(np.uint64)
    for back in range(1, _LAST + 1):
        numbers = numbers * np.uint64(_BASE) + data[np.maximum(ends - back, starts)]
    numbers = (numbers * np.uint64(_BASE)) >> np.uint64(64 - _BUCKETS)
    counts = np.bincount(numbers.astype(np.int64), minlength=1 << _BUCKETS)
    is_frequent: npt.NDArray[np.bool_] = counts[numbers] >= least
    return is_frequent


def _hashes(data: Bytes, starts: Ints, ends: Ints) -> npt.NDArray[np.uint64]:
    """Return a hash of each byte string."""
    lengths = ends - starts
    after = np.concatenate(([0], np.cumsum(lengths)))
    within = np.arange(int(after[-1])) - np.repeat(after[:-1], lengths)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, _BASE, dtype=np.uint64))
    values = (data[np.repeat(starts, lengths) + within].astype(np.uint64) + np.uint64(1)) * powers[within]
    totals = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(values)))
    hashes: npt.NDArray[np.uint64] = totals[after[1:]] - totals[after[:-1]]
    return hashes


def _width(text: str) -> int:
    """Return the number of characters; wide (East Asian) characters count twice, because words in these scripts are short."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _bare(text: str) -> str:
    """Return only the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))


def _is_short_form(form: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in form[1:])
