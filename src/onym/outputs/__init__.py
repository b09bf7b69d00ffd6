"""Outputs: links and mapped terms as tables, JSON lines, predictions, HTML, FHIR, OMOP and SSSOM.

Always true here: predictions hold ids, offsets and scores, but no text and no names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.outputs.fhir import codeable_concept
    from onym.outputs.links import write_links
    from onym.outputs.mapping import map_table, map_terms
    from onym.outputs.predictions import NoMentions, Prediction, Predictions, read_predictions, schema, write_predictions
    from onym.outputs.terms import TermMapping, TermTable, read_terms
    from onym.outputs.vocabularies import Vocabularies

__all__ = [
    "NoMentions",
    "Prediction",
    "Predictions",
    "TermMapping",
    "TermTable",
    "Vocabularies",
    "codeable_concept",
    "map_table",
    "map_terms",
    "read_predictions",
    "read_terms",
    "schema",
    "write_links",
    "write_predictions",
]
HELPERS = ("links", "mapping", "rows", "terms", "vocabularies")
"""Modules that are no format."""
_FILE, _TERMS = "onym.outputs.predictions", "onym.outputs.terms"
__getattr__ = lazy(
    __name__,
    {
        "NoMentions": _FILE,
        "Prediction": _FILE,
        "Predictions": _FILE,
        "TermMapping": _TERMS,
        "TermTable": _TERMS,
        "Vocabularies": "onym.outputs.vocabularies",
        "codeable_concept": "onym.outputs.fhir",
        "map_table": "onym.outputs.mapping",
        "map_terms": "onym.outputs.mapping",
        "read_predictions": _FILE,
        "read_terms": _TERMS,
        "schema": "onym.outputs.predictions",
        "write_links": "onym.outputs.links",
        "write_predictions": _FILE,
    },
)
