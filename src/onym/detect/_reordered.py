"""Names whose words stand in another order: `calcification of the falx` where a name is `falx calcification`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from onym.kb import KnowledgeBase
from onym.kb.word_keys import WordKeys
from onym.text.boundaries import words
from onym.text.word_key import SMALL_WORDS

_MAX_WORDS = 8
_JOINS = frozenset((" ", "-"))  # what may stand between two words of one name: a comma lists several things
_CACHE_SIZE = 200_000


class ReorderedNames:
    """Finds the names of a knowledge base in any order of their words.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> text = "two attacks of the heart, attack"
    >>> [(text[start:end], kb.names[row]) for start, end, row in ReorderedNames(kb).find(text)]
    [('attacks of the heart', 'heart attack')]
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        keys = WordKeys(kb)
        self._look_up = lru_cache(_CACHE_SIZE)(keys.find)

    def find(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield where a normalised text has the words of a name and nothing else, and the row of each such name."""
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
