"""Files of answers: predictions of linkers, mappings of terms, and both as clinical systems exchange them.

May import: corpora, kb, text, store, registry, types, errors.
Always true here: predictions hold ids, offsets and scores, but no text and no names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.predictions.exchange.fhir import codeable_concept
    from onym.predictions.exchange.vocabularies import Vocabularies
    from onym.predictions.file import NoMentions, Prediction, Predictions, read_predictions, write_predictions
    from onym.predictions.json_schema import schema
    from onym.predictions.mapping import TermMapping, TermTable, read_terms

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
_FILE, _MAPPING = "onym.predictions.file", "onym.predictions.mapping"
__getattr__ = lazy(
    __name__,
    {
        "NoMentions": _FILE,
        "Prediction": _FILE,
        "Predictions": _FILE,
        "TermMapping": _MAPPING,
        "TermTable": _MAPPING,
        "Vocabularies": "onym.predictions.exchange.vocabularies",
        "codeable_concept": "onym.predictions.exchange.fhir",
        "read_predictions": _FILE,
        "read_terms": _MAPPING,
        "schema": "onym.predictions.json_schema",
        "write_predictions": _FILE,
    },
)
