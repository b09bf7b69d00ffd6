"""Integrations with other programs: spaCy, dataframes, assistants (MCP).

The other libraries are optional extras, imported only when used. All offsets, ids and scores come from the pipeline unchanged.
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
