"""Output formats: write links and mapped terms as tables, predictions, HTML, FHIR, OMOP or SSSOM.

`onym.registry` lists the modules that are formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.outputs.base import ExportOptions, OutputContext, TermContext, Vocabularies
    from onym.outputs.fhir import codeable_concept
    from onym.outputs.links import write_links
    from onym.outputs.mapping import map_table, map_terms, read_terms
    from onym.outputs.predictions import NoMentions, Prediction, Predictions, read_predictions, schema, write_predictions
    from onym.outputs.table import read_flat
    from onym.outputs.terms import TermMapping, TermTable

__all__ = [
    "ExportOptions",
    "NoMentions",
    "OutputContext",
    "Prediction",
    "Predictions",
    "TermContext",
    "TermMapping",
    "TermTable",
    "Vocabularies",
    "codeable_concept",
    "map_table",
    "map_terms",
    "read_flat",
    "read_predictions",
    "read_terms",
    "schema",
    "write_links",
    "write_predictions",
]
_BASE, _FILE, _TERMS = "onym.outputs.base", "onym.outputs.predictions", "onym.outputs.terms"
__getattr__ = lazy(
    __name__,
    {
        "ExportOptions": _BASE,
        "NoMentions": _FILE,
        "OutputContext": _BASE,
        "Prediction": _FILE,
        "Predictions": _FILE,
        "TermContext": _BASE,
        "TermMapping": _TERMS,
        "TermTable": _TERMS,
        "Vocabularies": "onym.outputs.base",
        "codeable_concept": "onym.outputs.fhir",
        "map_table": "onym.outputs.mapping",
        "map_terms": "onym.outputs.mapping",
        "read_flat": "onym.outputs.table",
        "read_predictions": _FILE,
        "read_terms": "onym.outputs.mapping",
        "schema": "onym.outputs.predictions",
        "write_links": "onym.outputs.links",
        "write_predictions": _FILE,
    },
)
