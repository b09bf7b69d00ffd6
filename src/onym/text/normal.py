"""The one normal form of a name: GenBioEL's rule (paper, appendix E.1), for one string and for a column alike.

Lower case; each of ``,.;{}[]()+-_*/?!`"'=%><`` becomes a space; spaces are collapsed. `:`, `&`, `#`, `^`, `~` and `|` stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onym.types import require_text

if TYPE_CHECKING:
    import polars as pl

PUNCTUATION = ",.;{}[]()+-_*/?!`\"'=%><"
_SPACES = re.compile(r"[ \t\n\r\x0b\x0c]+")
_NORMAL = re.compile(r"[a-z0-9:]+(?: [a-z0-9:]+)*")  # most names looked up are in normal form already
_TO_SPACE = str.maketrans(dict.fromkeys(PUNCTUATION, " "))
_PATTERN = "[" + re.escape(PUNCTUATION) + r" \t\n\r\x0b\x0c]+"
_ODD = r"[Σ\P{Age=14.0}]"  # in Rust's syntax


def normal_name(text: str) -> str:
    """Return the normal form of one name. The normal form of a normal form is itself.

    >>> normal_name("Diabetes Mellitus, Type-2 (NIDDM)")
    'diabetes mellitus type 2 niddm'
    """
    try:
        if _NORMAL.fullmatch(text):
            return text
    except TypeError:  # asked only when it fails: this is called for millions of names
        require_text(text)
        raise
    return _SPACES.sub(" ", text.lower().translate(_TO_SPACE)).strip(" ")


def normal_names(column: pl.Expr) -> pl.Expr:
    """Return the normal form of a column of names: the same rule, without a Python object per row.

    Only names with a character that Python and Rust may put in lower case differently are left to Python: those that
    Unicode added after version 14, and a capital sigma, which depends on the letters around it.
    """
    import polars as pl

    return column.map_batches(_normal_series, return_dtype=pl.String)


def _normal_series(names: pl.Series) -> pl.Series:
    normal = names.str.to_lowercase().str.replace_all(_PATTERN, " ").str.strip_chars(" ")
    others = (names.str.len_bytes() != names.str.len_chars()).arg_true()  # not ASCII
    odd = others.filter(names.gather(others).str.contains(_ODD))
    if len(odd):
        normal = normal.scatter(odd, [normal_name(name) for name in names.gather(odd)])
    return normal
