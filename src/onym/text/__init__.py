"""Text processing: name normalisation, word and sentence boundaries, abbreviations, context windows, TF-IDF similarity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.text.abbreviations import Abbreviations, find_abbreviations
    from onym.text.normal import normal_name

__all__ = ["Abbreviations", "find_abbreviations", "normal_name"]
__getattr__ = lazy(
    __name__,
    {
        "Abbreviations": "onym.text.abbreviations",
        "find_abbreviations": "onym.text.abbreviations",
        "normal_name": "onym.text.normal",
    },
)
