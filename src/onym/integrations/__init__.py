"""Onym inside other programs: spaCy, dataframes, assistants.

What it connects to is an extra, and imported only where it is used.
Always true here: offsets, ids and scores are those of the pipeline; nothing is computed a second way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.integrations.dataframes import map_series
    from onym.integrations.spacy import OnymPipe, SpanLink

__all__ = ["OnymPipe", "SpanLink", "map_series"]
__getattr__ = lazy(
    __name__,
    {
        "OnymPipe": "onym.integrations.spacy",
        "SpanLink": "onym.integrations.spacy",
        "map_series": "onym.integrations.dataframes",
    },
)
