"""The other number of a name: where a vocabulary has `tumor`, texts have `tumors`, and the other way round.

Only the last word changes, by the regular endings of English and those that Latin and Greek left in medicine. A word is not
known: what comes out may be no word at all, and then no vocabulary has it.
"""

from __future__ import annotations

from functools import lru_cache

_MIN_LETTERS = 4  # in shorter words an s is rarely that of a plural: gas, his
_TO_SINGULAR = (
    ("ies", ("y",)),
    ("ses", ("sis", "s", "se")),
    ("xes", ("x",)),
    ("ches", ("ch", "che")),
    ("shes", ("sh",)),
    ("ae", ("a",)),
    ("mata", ("ma",)),
    ("i", ("us",)),
    ("ss", ()),
    ("us", ()),
    ("is", ()),
    ("s", ("",)),
)
_TO_PLURAL = (
    ("sis", ("ses",)),
    ("us", ("i", "uses")),
    ("ay", ("ays",)),
    ("ey", ("eys",)),
    ("oy", ("oys",)),
    ("y", ("ies",)),
    ("x", ("xes",)),
    ("ch", ("ches",)),
    ("sh", ("shes",)),
    ("ss", ("sses",)),
    ("s", ()),
    ("a", ("as", "ae")),
    ("", ("s",)),
)


def other_numbers(name: str) -> tuple[str, ...]:
    """Return a normalised name with its last word in the singular and in the plural, as far as endings tell.

    >>> other_numbers("jaw cysts"), other_numbers("diagnosis"), other_numbers("nevi")
    (('jaw cyst',), ('diagnoses',), ('nevus', 'nevis'))
    >>> other_numbers("abnormality"), other_numbers("gas"), other_numbers("type 2")
    (('abnormalities',), (), ())
    """
    before, space, last = name.rpartition(" ")
    return tuple(f"{before}{space}{word}" for word in _of_word(last))


@lru_cache(50_000)
def _of_word(word: str) -> tuple[str, ...]:
    if len(word) < _MIN_LETTERS or not word.isalpha():
        return ()
    return (*_changed(word, _TO_SINGULAR), *_changed(word, _TO_PLURAL))


def _changed(word: str, endings: tuple[tuple[str, tuple[str, ...]], ...]) -> list[str]:
    """Return a word with the first ending that it has replaced."""
    old, new = next(((old, new) for old, new in endings if word.endswith(old)), ("", ()))
    return [word.removesuffix(old) + each for each in new]
