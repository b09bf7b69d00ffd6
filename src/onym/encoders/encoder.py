"""The encoder: a model of BERT's or RoBERTa's kind that makes a vector of a short text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from onym.encoders.batches import batches
from onym.encoders.device import Precision
from onym.encoders.finite import require_finite
from onym.encoders.loading import open_pretrained
from onym.encoders.reading import Reading
from onym.encoders.settings import EncoderSettings, read_settings
from onym.encoders.threads import fix_thread_count
from onym.encoders.vectors import vectors_of
from onym.errors import ConfigError, InputError
from onym.store.digests import file_digest
from onym.store.models import weights_digest
from onym.text.tokens import Tokenizer

FAMILIES = {
    "bert": "BertModel",
    "camembert": "CamembertModel",
    "distilbert": "DistilBertModel",
    "electra": "ElectraModel",
    "modernbert": "ModernBertModel",
    "mpnet": "MPNetModel",
    "roberta": "RobertaModel",
    "xlm-roberta": "XLMRobertaModel",
}
"""The families that are known, each with the class of transformers that opens it."""
Vectors = npt.NDArray[np.float32]
_MIN_LENGTH = 4  # tokens that a model has to read: two around a text and some of it
_BUDGET = 4_096  # tokens read at once, padding included: what a layer works on stays in the cache of a core


class Encoder:
    """Makes vectors of texts. The same `digest` means the same vectors, but for rounding.

    `model` is opened for inference; `about` is what there is to tell of it: its name, and the digest of its weights.
    """

    def __init__(
        self, model: Any, tokenizer: Tokenizer, settings: EncoderSettings | None = None, about: dict[str, Any] | None = None
    ) -> None:
        require_fitting(model, tokenizer)
        settings = settings or EncoderSettings()
        self.settings = settings.changed(length=min(settings.length, max_length(model)))
        self.width: int = model.config.hidden_size
        self.precision = str(model.dtype).removeprefix("torch.")
        self._model, self._tokenizer = model, tokenizer
        self._about = about or {}
        self.reading = Reading(tokenizer, self.settings, model.config.pad_token_id)

    @classmethod
    def open(
        cls,
        folder: Path | str,
        settings: EncoderSettings | None = None,
        precision: Precision = "auto",
        *,
        device: str = "auto",
        name: str = "",
    ) -> Encoder:
        """Open the encoder of a folder; where no settings are given, the folder's own count.

        `name` is what the model is called beside results, where that is not the folder's name.
        """
        folder = Path(folder)
        model = open_body(folder, precision, device=device)
        about = {
            "model": name or folder.name,
            "weights": weights_digest(folder),
            "shape": file_digest(folder / "config.json")[:16],
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        }
        return cls(model, Tokenizer.open(folder), settings or read_settings(folder), about)

    @property
    def digest(self) -> str:
        """The identity of the vectors: of weights, configuration, tokenizer and settings, but not of the precision."""
        parts = [self._about.get("weights"), self._about.get("shape"), self._tokenizer.digest, self.settings.model_dump()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def config(self) -> dict[str, Any]:
        """What the vectors depend on, to be told beside results."""
        text = {"tokenizer": self._tokenizer.digest, **self.settings.model_dump()}
        return {**self._about, "precision": self.precision, **text}

    def encode(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Vectors:
        """Return the vectors of texts, in their order. *Shape:* (texts, width). `progress` is told how many are done.

        A text that is there several times is read once. What does not fit into the settings' length is not read.
        """
        fix_thread_count()
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        tokens = self._tokenizer.ids_of(list(row_of))
        found = np.zeros((len(row_of), self.width), dtype=np.float32)  # a text without any token stays at zero
        lengths, done = self.reading.lengths(tokens), 0
        readable = np.flatnonzero(lengths)
        for batch in batches(lengths[readable], _BUDGET):
            rows = readable[batch]
            found[rows] = self._vectors(*map(torch.from_numpy, self.reading.rows(tokens, rows)))
            done += len(rows)
            if progress:
                progress(done)
        return found if len(row_of) == len(texts) else found[[row_of[text] for text in texts]]

    def _vectors(self, ids: torch.Tensor, mask: torch.Tensor) -> Vectors:
        """Return the vectors of padded texts, on the CPU; ids and mask (texts, tokens) -> (texts, width)."""
        device = self._model.device
        with torch.inference_mode():
            found = require_finite(vectors_of(self._model, ids.to(device), mask.to(device), self.settings))
        return np.asarray(found.cpu().numpy(), dtype=np.float32)


def open_body(folder: Path, precision: Precision = "auto", *, device: str = "auto") -> Any:
    """Return the model of an encoder's folder, for inference, without its layer over the first token, which no pooling uses."""
    model = open_pretrained(FAMILIES, folder, precision, device=device, what="an encoder", spare="pooler.")
    _require_readable(model, folder)
    model.pooler = None
    return model


def _require_readable(model: Any, folder: Path) -> None:
    """Refuse a model that cannot fill a text, or that can read hardly any of it."""
    pad = model.config.pad_token_id
    if not isinstance(pad, int) or not 0 <= pad < model.config.vocab_size:
        what = "the configuration does not name the token that fills a text"
        raise InputError("model-malformed", what, where=str(folder / "config.json"), fix="fetch it again")
    if max_length(model) < _MIN_LENGTH:
        what = f"the model reads less than {_MIN_LENGTH} tokens"
        raise InputError("model-malformed", what, where=str(folder / "config.json"), fix="fetch it again")


def require_fitting(model: Any, tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that has more tokens than the model."""
    if tokenizer.vocabulary > model.config.vocab_size:
        what = f"the tokenizer has {tokenizer.vocabulary:,} tokens, the model {model.config.vocab_size:,}"
        raise ConfigError("model-tokenizer", what, fix="name the tokenizer that the model was trained with")


def max_length(model: Any) -> int:
    """Return how many tokens the model can read: RoBERTa and its kin count positions from behind the padding's id."""
    positions = getattr(model.embeddings, "position_embeddings", None)
    first = getattr(positions, "padding_idx", None)
    return int(model.config.max_position_embeddings) - (0 if first is None else first + 1)
