"""Normalises names: GenBioEL's rule (paper, appendix E.1), singular and plural forms, and keys that ignore word order.

Names are lower-cased, each of ``,.;{}[]()+-_*/?!`"'=%><`` becomes a space, and runs of spaces become one space. The characters
`:`, `&`, `#`, `^`, `~` and `|` are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from onym.types import require_text

if TYPE_CHECKING:
    import polars as pl

PUNCTUATION = ",.;{}[]()+-_*/?!`\"'=%><"
_SPACES = re.compile(r"[ \t\n\r\x0b\x0c]+")
_NORMAL = re.compile(r"[a-z0-9:]+(?: [a-z0-9:]+)*")  # matches names that are already normalised, which most are
_TO_SPACE = str.maketrans(dict.fromkeys(PUNCTUATION, " "))
_PATTERN = "[" + re.escape(PUNCTUATION) + r" \t\n\r\x0b\x0c]+"
_ODD = r"[Σ\P{Age=14.0}]"  # in Rust's regex syntax: capital sigma, and characters newer than Unicode 14


def normal_name(text: str) -> str:
    """Return the normal form of a name (idempotent).

    >>> normal_name("Diabetes Mellitus, Type-2 (NIDDM)")
    'diabetes mellitus type 2 niddm'
    """
    try:
        if _NORMAL.fullmatch(text):
            return text
    except TypeError:  # the type is checked only after a failure, because this function is called for millions of names
        require_text(text)
        raise
    return _SPACES.sub(" ", text.lower().translate(_TO_SPACE)).strip(" ")


def normal_names(column: pl.Expr) -> pl.Expr:
    """Normalise a column of names: the vectorised version of `normal_name`.

    Most names are normalised by polars (Rust). Names are normalised in Python if they contain a character that Rust may
    lower-case differently: one newer than Unicode 14, or a capital sigma, whose lower case depends on its neighbours.
    """
    import polars as pl

    return column.map_batches(_normal_series, return_dtype=pl.String)


def _normal_series(names: pl.Series) -> pl.Series:
    normal = names.str.to_lowercase().str.replace_all(_PATTERN, " ").str.strip_chars(" ")
    others = (names.str.len_bytes() != names.str.len_chars()).arg_true()  # names that are not ASCII
    odd = others.filter(names.gather(others).str.contains(_ODD))
    if len(odd):
        normal = normal.scatter(odd, [normal_name(name) for name in names.gather(odd)])
    return normal


_MIN_LETTERS = 4  # minimum letters of a word: in shorter words, such as gas, a final s is rarely a plural
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
    """Return the singular and plural variants of a normalised name, guessed from the ending of its last word.

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
    return (*_replace_ending(word, _TO_SINGULAR), *_replace_ending(word, _TO_PLURAL))


def _replace_ending(word: str, endings: tuple[tuple[str, tuple[str, ...]], ...]) -> list[str]:
    """Return the variants of a word, by the first rule whose ending matches."""
    old, new = next(((old, new) for old, new in endings if word.endswith(old)), ("", ()))
    return [word.removesuffix(old) + each for each in new]


SMALL_WORDS = frozenset(["a", "an", "at", "by", "for", "from", "in", "of", "on", "the", "to", "with"])
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
    """Drop `SMALL_WORDS` from lower-case words, stem and sort the others, and join them with spaces.

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
