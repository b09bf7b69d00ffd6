"""The reasons for which a short form or a pair is refused, whatever the letters say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onym.text.abbreviations._words import CLAUSE_WORDS, GREEK_NAMES, NEVER_SHORT, STOP_WORDS, Word
from onym.text.brackets import is_balanced

_NEVER_IN_SHORT = frozenset("=<>%")
_MAX_LETTERS = 10
_MAX_SHORT = 25
_MAX_LONG = 300


def may_be_short(text: str) -> bool:
    """Tell whether a text looks like a short form.

    >>> [may_be_short(text) for text in ("IFN-gamma", "PI 3-kinase", "[Ca2+]i", "n = 12", "group 2", "1998", "i.e.")]
    [True, True, True, False, False, False, False]
    """
    if not 0 < len(text) <= _MAX_SHORT or not (text[0].isalnum() or text[0] in "[(-+"):
        return False
    if not _NEVER_IN_SHORT.isdisjoint(text) or not is_balanced(text):
        return False
    if text.strip(".") in NEVER_SHORT or text in STOP_WORDS:
        return False
    return any(map(str.isalpha, text)) and _has_few_letters(text) and _may_be_words(text.split())


def _has_few_letters(text: str) -> bool:
    """Count letters and digits; the name of a Greek letter is one."""
    letters = sum(map(str.isalnum, text))
    return letters <= _MAX_LETTERS or letters - sum(len(name) - 1 for name in GREEK_NAMES if name in text) <= _MAX_LETTERS


def _may_be_words(words: Sequence[str]) -> bool:
    """Tell whether words look like one short form: `ED 16` and `PS beta G` do, `group 2`, `pH 7.5` and `0 mg/mL` do not."""
    if len(words) == 1:
        return True
    first, last = words[0], words[-1]
    if first.islower() and len(first) > 3 and first not in GREEK_NAMES:
        return False
    if not any(map(str.isalpha, first)):
        return False
    if last.replace(".", "").isdigit() and not (first.isupper() and last.isdigit()):
        return False
    return len(words) == 2 or (len(words) == 3 and any(word in GREEK_NAMES for word in words))


Refusal = Callable[[str, str, Sequence[Word]], bool]
"""Asked with the short form, the long form and its words."""


def _is_no_longer(short: str, long: str, _words: Sequence[Word]) -> bool:
    """Refuse what is not longer than its short form, by more than the ending of a plural."""
    return not len(short) < len(long) <= _MAX_LONG or (len(long) == len(short) + 1 and long.startswith(short))


def _holds_short(short: str, long: str, _words: Sequence[Word]) -> bool:
    """Refuse what has the short form among its words: something else is said of it."""
    return short in long.split()


def _is_variant(short: str, long: str, _words: Sequence[Word]) -> bool:
    """Refuse the short form with something added, as in `Notch (NotchIC)`: that is another name."""
    return long.startswith(short) and len(long.split()) == 1 and not long[len(short) :].islower()


def _is_cut(_short: str, long: str, _words: Sequence[Word]) -> bool:
    """Refuse what has only one bracket of a pair."""
    return not is_balanced(long)


def _is_clause(_short: str, _long: str, words: Sequence[Word]) -> bool:
    """Refuse what has a verb or a conjunction: that is more than a term."""
    return any(word.lower in CLAUSE_WORDS for word in words)


def _is_bare(_short: str, _long: str, words: Sequence[Word]) -> bool:
    """Refuse numbers, units and letters alone."""
    return not any(sum(map(str.isalpha, word.raw)) > 2 for word in words)


def _begins_badly(_short: str, long: str, words: Sequence[Word]) -> bool:
    """Refuse a stop word or a lone small letter at the beginning, unless a hyphen follows: `over-the-counter`, `c-Jun`."""
    first = words[0]
    is_weak = (first.lower in STOP_WORDS and first.raw != "A") or (len(first.raw) == 1 and first.raw.islower())
    follows = long[len(first.raw) : len(first.raw) + 1] if long.startswith(first.raw) else "-"
    return is_weak and follows != "-"


REFUSALS: tuple[Refusal, ...] = (_is_no_longer, _holds_short, _is_variant, _is_cut, _is_clause, _is_bare, _begins_badly)


def is_refused(short: str, long: str, words: Sequence[Word]) -> bool:
    """Tell whether any reason speaks against a pair."""
    return any(refusal(short, long, words) for refusal in REFUSALS)
