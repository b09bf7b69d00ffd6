"""Which names of a knowledge base are mentions wherever they stand, which only as their sources write them, and which never.

`all`, `was` and `mi` are names: of a leukaemia, a gene and an infarction, which their sources write `ALL`, `WAS` and `MI`. The
knowledge base has all names in lower case, but keeps the forms as they were written: from them this is told, name by name. And
`disease` is a name, but thousands of other names end with it: alone it says too little. No list of words is needed for either.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from unicodedata import east_asian_width

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.kb.masks import ConceptMask
from onym.text.abbreviations import FUNCTION_WORDS

_CACHE_SIZE = 200_000  # names
_GENERAL = 100  # names that end with a word, at least, until it says too little
_ONE_IN = 400  # of all names
_SPACE = ord(" ")
_BASE = 0x9E3779B97F4A7C15  # odd, and as good as random
_LAST, _BUCKETS = 4, 20  # bytes at the end of a word, and bits of a number made of them

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


class NameFilter:
    """Tells whether a name is a mention where it stands written so. With `only`, as a name of some concepts alone.

    Never accepted are names of fewer than `min_length` characters, names without a letter, function words, and single words
    with which one in 400 names ends. Names of up to `case_sensitive_below` letters and digits that all sources write as
    abbreviations are, with a capital or a digit after the first letter, are accepted where they are written so.

    >>> names = NameFilter(KnowledgeBase.open(getfixture("tiny_kb")), min_length=2)
    >>> mi, fever = names.kb.find("mi"), names.kb.find("fever")
    >>> [names.accepts(mi, "MI"), names.accepts(mi, "Mi"), names.accepts(fever, "FEVER")]
    [True, False, True]
    """

    def __init__(
        self, kb: KnowledgeBase, *, min_length: int = 3, case_sensitive_below: int = 4, only: ConceptMask | None = None
    ) -> None:
        self.kb = kb
        self._min_length, self._case_sensitive_below, self._only = min_length, case_sensitive_below, only
        self._allowed = lru_cache(_CACHE_SIZE)(self._forms_allowed)

    def accepts(self, name: int, surface: str) -> bool:
        """Tell whether a stretch of text, written as `surface`, is to be taken for the name."""
        forms_allowed = self._allowed(name)
        return forms_allowed is None or _bare(surface) in forms_allowed

    @cached_property
    def general(self) -> frozenset[str]:
        """The words with which so many names end that they say little by themselves."""
        names = self.kb.names
        least = max(_GENERAL, len(names) // _ONE_IN)
        data, ends = names.data.view(np.ndarray), names.offsets.astype(np.int64)
        spaces = np.concatenate(([-1], np.flatnonzero(data == _SPACE)))
        starts = spaces[np.searchsorted(spaces, ends[1:]) - 1] + 1  # of the last words
        has_more = starts > ends[:-1]
        rows = np.flatnonzero(has_more)
        rows = rows[_may_be_frequent(data, starts[rows], ends[1:][rows], least)]
        hashes = _hashes(data, starts[rows], ends[1:][rows])
        _, numbers, counts = np.unique(hashes, return_index=True, return_counts=True)
        return frozenset(names[int(row)].rpartition(" ")[2] for row in rows[numbers[counts >= least]])

    def _forms_allowed(self, name: int) -> frozenset[str] | None:
        """Return how a name must be written, bare; None is in any way, and nothing is never."""
        text = self.kb.names[name]
        if _width(text) < self._min_length or not any(map(str.isalpha, text)) or text in self.general:
            return frozenset()
        forms = {_bare(form) for form in self._forms(name)} if len(_bare(text)) <= self._case_sensitive_below else {""}
        if all(map(_is_short_form, forms)):
            return frozenset(forms)
        return frozenset() if text in FUNCTION_WORDS else None

    def _forms(self, name: int) -> list[str]:
        """Return a name as the sources write it."""
        kb, found = self.kb, []
        for concept in kb.name_concepts[name].tolist():
            if self._only is None or self._only[concept]:
                first = int(kb.concept_terms[concept])
                found += [kb.term_forms[first + row] for row in (kb.names_of(concept) == name).nonzero()[0].tolist()]
        return found


def _may_be_frequent(data: Bytes, starts: Ints, ends: Ints, least: int) -> npt.NDArray[np.bool_]:
    """Tell for each stretch of bytes whether so many may be the same: those of one length that end with the same bytes.

    It is quick, so that few are left to be compared as a whole.
    """
    numbers = (ends - starts).astype(np.uint64)
    for back in range(1, _LAST + 1):
        numbers = numbers * np.uint64(_BASE) + data[np.maximum(ends - back, starts)]
    numbers = (numbers * np.uint64(_BASE)) >> np.uint64(64 - _BUCKETS)
    counts = np.bincount(numbers.astype(np.int64), minlength=1 << _BUCKETS)
    is_frequent: npt.NDArray[np.bool_] = counts[numbers] >= least
    return is_frequent


def _hashes(data: Bytes, starts: Ints, ends: Ints) -> npt.NDArray[np.uint64]:
    """Return a number for each stretch of bytes, the same for the same bytes."""
    lengths = ends - starts
    after = np.concatenate(([0], np.cumsum(lengths)))
    within = np.arange(int(after[-1])) - np.repeat(after[:-1], lengths)
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, _BASE, dtype=np.uint64))
    values = (data[np.repeat(starts, lengths) + within].astype(np.uint64) + np.uint64(1)) * powers[within]
    totals = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(values)))
    hashes: npt.NDArray[np.uint64] = totals[after[1:]] - totals[after[:-1]]
    return hashes


def _width(text: str) -> int:
    """Count characters; one of a script that has words of one or two, such as Chinese, counts twice."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _bare(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text))


def _is_short_form(form: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in form[1:])
