"""Opening a seq2seq model, whose configuration must say how a text starts and ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onym.encoders.device import Precision
from onym.encoders.loading import open_pretrained
from onym.errors import InputError

FAMILIES = {"bart": "BartForConditionalGeneration", "marian": "MarianMTModel", "t5": "T5ForConditionalGeneration"}
"""The families that are known, each with the class of transformers that opens it."""


def open_model(folder: Path, precision: Precision = "auto", *, device: str = "auto") -> Any:
    """Return the model of a folder on a device, for inference.

    A published checkpoint may bring defaults of `generate` with it, as BART's `no_repeat_ngram_size`: nothing here uses them.
    """
    model = open_pretrained(FAMILIES, folder, precision, device=device, what="a seq2seq model")
    config = model.config
    special = (config.decoder_start_token_id, config.eos_token_id, config.pad_token_id)
    if not all(isinstance(token, int) and 0 <= token < config.vocab_size for token in special):
        what = "the configuration does not name the tokens that start, end and fill a text"
        raise InputError("model-malformed", what, where=str(folder / "config.json"), fix="fetch it again")
    return model
