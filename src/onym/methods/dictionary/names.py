"""Filters names that are no mentions wherever they occur, and finds names with their words in another order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from unicodedata import east_asian_width

from onym.kb import KnowledgeBase
from onym.kb.name_table import WordKeys
from onym.kb.ranking import ConceptMask
from onym.methods.detector import RejectionReason
from onym.text.abbreviations import FUNCTION_WORDS
from onym.text.boundaries import words
from onym.text.normal import SMALL_WORDS
from onym.text.ordinary import GENERAL_WORDS, ORDINARY_WORDS

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
            for (_, before, _), (after, end, more) in pairwise(found[first : first + _MAX_WORDS]):
                if text[before:after] not in _JOINS:
                    break
                phrase.append(more)
                if more not in SMALL_WORDS:
                    for row in self._look_up(tuple(phrase)):
                        yield start, end, row


class NameFilter:
    """Decides whether a surface that matches a name is a mention. Concepts that are not in `only` are ignored.

    Always rejected: names with fewer than `min_length` characters, names without a letter, and function words. Abbreviations
    must be spelt exactly as in a source: these are names of up to `case_sensitive_below` letters and digits that all sources
    write with a capital or digit after the first letter. So must longer names in capitals that are ordinary words: *CHARGE*.

    Two tables are for texts without a classifier (`is_judged` is false): words too general to name anything alone, such as
    *disease*, and ordinary words that are names by accident, such as *lead*.

    >>> names = NameFilter(KnowledgeBase.open(getfixture("tiny_kb")), min_length=2)
    >>> mi, fever = names.kb.find("mi"), names.kb.find("fever")
    >>> names.reject(mi, "MI"), names.reject(mi, "Mi"), names.reject(fever, "FEVER")
    (None, 'other-spelling', None)
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        *,
        min_length: int = 3,
        case_sensitive_below: int = 4,
        only: ConceptMask | None = None,
        is_judged: bool = False,
    ) -> None:
        self.kb, self._is_judged = kb, is_judged
        self._min_length, self._case_sensitive_below, self._only = min_length, case_sensitive_below, only
        self._rule = lru_cache(CACHE_SIZE)(self._find_rule)

    def reject(self, name: int, surface: str) -> RejectionReason | None:
        """Return why `surface` is not a mention of the name; None if it is a mention."""
        forms_allowed, reason = self._rule(name)
        return None if forms_allowed is None or bare_form(surface) in forms_allowed else reason

    def describe(self, name: int, reason: RejectionReason) -> str:
        """Explain a reason returned by `reject` in words."""
        return {
            "too-short": f"the name has fewer than {self._min_length} characters (detector option min_length){self._hint}",
            "no-letter": "the name has no letter",
            "too-general": "the word alone is too general (a classifier would judge it by its context)",
            "ordinary-word": "an ordinary word that is a name by accident (a classifier would judge it by its context)",
            "function-word": "the name is an ordinary function word",
            "other-spelling": f"the knowledge base writes this abbreviation {' or '.join(sorted(set(self._forms(name))))}",
        }[reason]

    @property
    def _hint(self) -> str:
        return "" if self._is_judged else "; define it in the text, or use a detector with a classifier"

    def _find_rule(self, name: int) -> tuple[frozenset[str] | None, RejectionReason]:
        """Return the allowed spellings of a name (None means all, empty means none), and the reason for rejecting others."""
        text = self.kb.names[name]
        if _width(text) < self._min_length or not any(map(str.isalpha, text)):
            return frozenset(), "too-short" if _width(text) < self._min_length else "no-letter"
        is_short = len(bare_form(text)) <= self._case_sensitive_below or text in ORDINARY_WORDS
        forms = {bare_form(form) for form in self._forms(name)} if is_short else {""}
        if all(map(_is_short_form, forms)):
            return frozenset(forms), "other-spelling"
        if text in FUNCTION_WORDS:
            return frozenset(), "function-word"
        if not self._is_judged and text in GENERAL_WORDS:
            return frozenset(), "too-general"
        return frozenset() if not self._is_judged and text in ORDINARY_WORDS else None, "ordinary-word"

    def _forms(self, name: int) -> list[str]:
        """Return the original spellings of a name in the sources."""
        kb, found = self.kb, []
        for concept in kb.name_concepts[name].tolist():
            if self._only is None or self._only[concept]:
                first = int(kb.concept_terms[concept])
                found += [kb.term_forms[first + row] for row in (kb.names_of(concept) == name).nonzero()[0].tolist()]
        return found


def _width(text: str) -> int:
    """Return the number of characters; wide (East Asian) characters count twice, because words in these scripts are short."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def bare_form(text: str) -> str:
    """Return only the letters and digits of a text.

    >>> bare_form("IL-2")
    'IL2'
    """
    return "".join(filter(str.isalnum, text))


def _is_short_form(form: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in form[1:])
