"""The one normal form of a name: GenBioEL's rule (paper, appendix E.1), for one string and for a column alike.

Lower case; each of ``,.;{}[]()+-_*/?!`"'=%><`` becomes a space; spaces are collapsed. `:`, `&`, `#`, `^`, `~` and `|` stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

PUNCTUATION = ",.;{}[]()+-_*/?!`\"'=%><"
_SPACES = re.compile(r"[ \t\n\r\x0b\x0c]+")
_NORMAL = re.compile(r"[a-z0-9:]+(?: [a-z0-9:]+)*")  # most names looked up are in normal form already
_TO_SPACE = str.maketrans(dict.fromkeys(PUNCTUATION, " "))
_PATTERN = "[" + re.escape(PUNCTUATION) + r" \t\n\r\x0b\x0c]+"


def normal_name(text: str) -> str:
    """Return the normal form of one name.

    >>> normal_name("Diabetes Mellitus, Type-2 (NIDDM)")
    'diabetes mellitus type 2 niddm'
    """
    if _NORMAL.fullmatch(text):
        return text
    return _SPACES.sub(" ", text.lower().translate(_TO_SPACE)).strip(" ")


def normal_names(column: pl.Expr) -> pl.Expr:
    """Return the normal form of a column of names: the same rule, without a Python object per row."""
    return column.str.to_lowercase().str.replace_all(_PATTERN, " ").str.strip_chars(" ")
