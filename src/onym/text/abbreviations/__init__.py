"""Abbreviations that a text defines, as in `odds ratio (OR)`: found, and looked up for the whole document.

    find_abbreviations     the definitions of a text, by Schwartz and Hearst's idea and stricter rules in the manner of Ab3P
    plain_schwartz_hearst  the published algorithm, to compare with
    Abbreviations          from a short form to the long form that the document gives it

No model, no list of known abbreviations, nothing but the text itself. Offsets are code points; the text is never altered.
"""

from __future__ import annotations

from onym.text.abbreviations._definition import Abbreviation
from onym.text.abbreviations._finder import find_abbreviations
from onym.text.abbreviations._plain import plain_schwartz_hearst
from onym.text.abbreviations._resolver import Abbreviations
from onym.text.abbreviations._words import CLAUSE_WORDS, STOP_WORDS

__all__ = ["FUNCTION_WORDS", "Abbreviation", "Abbreviations", "find_abbreviations", "plain_schwartz_hearst"]

FUNCTION_WORDS = STOP_WORDS | CLAUSE_WORDS
"""Words that hold a sentence together and name nothing, in lower case."""
