"""Files of answers: predictions of linkers, and mappings of terms.

May import: corpora, kb, text, store, registry, types, errors.
Always true here: predictions hold ids, offsets and scores, but no text and no names.
"""

from onym.predictions.file import Prediction, Predictions, read_predictions, write_predictions

__all__ = ["Prediction", "Predictions", "read_predictions", "write_predictions"]
