"""Text processing: name normalisation, word and sentence boundaries, abbreviations, assertion, windows, TF-IDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.text.abbreviations import Abbreviations, find_abbreviations
    from onym.text.assertion import assertion_marks, with_assertion
    from onym.text.normal import normal_name
    from onym.text.queries import Query, queries_of

__all__ = ["Abbreviations", "Query", "assertion_marks", "find_abbreviations", "normal_name", "queries_of", "with_assertion"]
__getattr__ = lazy(
    __name__,
    {
        "Abbreviations": "onym.text.abbreviations",
        "Query": "onym.text.queries",
        "assertion_marks": "onym.text.assertion",
        "find_abbreviations": "onym.text.abbreviations",
        "normal_name": "onym.text.normal",
        "queries_of": "onym.text.queries",
        "with_assertion": "onym.text.assertion",
    },
)
