"""What is left of a phrase if order, number and small words do not count: `calcification of the falx`, `falx calcification`.

Two phrases with one key mean the same nearly always. The endings are those of singular and plural in English and in what Latin
and Greek left in medicine; both become the same stem, which may be no word.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

SMALL_WORDS = frozenset(["a", "an", "at", "by", "for", "from", "in", "of", "on", "the", "to", "with"])
_MIN_LETTERS = 4  # as in `inflection`
_STEMS = (
    ("sses", "ss"),
    ("ss", "ss"),
    ("ies", ""),
    ("y", ""),
    ("sis", "s"),
    ("ses", "s"),
    ("se", "s"),
    ("xes", "x"),
    ("ches", "ch"),
    ("che", "ch"),
    ("shes", "sh"),
    ("mata", "m"),
    ("as", ""),
    ("ae", ""),
    ("a", ""),
    ("us", ""),
    ("i", ""),
    ("is", "is"),
    ("s", ""),
)


def word_key(words: Iterable[str]) -> str:
    """Return the stems of words in lower case, sorted, without the small words.

    >>> word_key("calcification of the falx".split()) == word_key(["falx", "calcifications"])
    True
    >>> word_key("loss of hair".split()), word_key(["of", "the"])
    ('hair loss', '')
    """
    return " ".join(sorted(_stem(word) for word in words if word not in SMALL_WORDS))


@lru_cache(50_000)
def _stem(word: str) -> str:
    if len(word) < _MIN_LETTERS or not word.isalpha():
        return word
    old, new = next(((old, new) for old, new in _STEMS if word.endswith(old)), ("", ""))
    return word.removesuffix(old) + new
