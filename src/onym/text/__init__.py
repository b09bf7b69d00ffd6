"""Text processing: name normalisation, word and sentence boundaries, abbreviations, context windows, TF-IDF similarity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.text.abbreviations import Abbreviations, find_abbreviations
    from onym.text.normal import normal_name
    from onym.text.queries import Query, queries_of

__all__ = ["Abbreviations", "Query", "find_abbreviations", "normal_name", "queries_of"]
__getattr__ = lazy(
    __name__,
    {
        "Abbreviations": "onym.text.abbreviations",
        "Query": "onym.text.queries",
        "find_abbreviations": "onym.text.abbreviations",
        "normal_name": "onym.text.normal",
        "queries_of": "onym.text.queries",
    },
)
