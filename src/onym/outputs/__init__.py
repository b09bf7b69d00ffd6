"""Files of answers: predictions of linkers, mappings of terms, and both as clinical systems exchange them.

May import: corpora, kb, text, store, registry, types, errors.
Always true here: predictions hold ids, offsets and scores, but no text and no names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.outputs.fhir import codeable_concept
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
    "read_predictions",
    "read_terms",
    "schema",
    "write_predictions",
]
_FILE, _MAPPING = "onym.outputs.predictions", "onym.outputs.mapping"
__getattr__ = lazy(
    __name__,
    {
        "NoMentions": _FILE,
        "Prediction": _FILE,
        "Predictions": _FILE,
        "TermMapping": _MAPPING,
        "TermTable": _MAPPING,
        "Vocabularies": "onym.outputs.vocabularies",
        "codeable_concept": "onym.outputs.fhir",
        "read_predictions": _FILE,
        "read_terms": _MAPPING,
        "schema": "onym.outputs.predictions",
        "write_predictions": _FILE,
    },
)
