"""Text encoders (BERT, RoBERTa and similar) that run on torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from onym.models.device import Precision
from onym.models.encoder import Rows, TextEncoder, Vectors, about_model, require_vocabulary
from onym.models.settings import EncoderSettings, pool, read_settings
from onym.models.shape import require_readable
from onym.models.tensors import require_finite
from onym.models.tokens import Tokenizer
from onym.models.torch_loading import fix_thread_count, open_pretrained


def vectors_of(model: Any, ids: Tensor, mask: Tensor, settings: EncoderSettings) -> Tensor:
    """Encode padded texts. *Shape:* ids and mask (texts, tokens) -> (texts, width)."""
    return comparable(pool(token_vectors(model, ids, mask), mask, settings.pooling), settings)


def token_vectors(model: Any, ids: Tensor, mask: Tensor) -> Tensor:
    """Return the vectors of all tokens, at least fp32 even if the model has a lower precision.

    *Shape:* ids and mask (texts, tokens) -> (texts, tokens, width).
    """
    hidden: Tensor = model(input_ids=ids, attention_mask=mask).last_hidden_state
    return hidden if hidden.dtype.itemsize > 4 else hidden.float()


def comparable(vectors: Tensor, settings: EncoderSettings) -> Tensor:
    """Normalise vectors if the similarity is cosine, so that dot products are similarities."""
    return normalize(vectors, dim=-1) if settings.similarity == "cosine" else vectors


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
"""The supported families, each with its transformers class."""


class Encoder(TextEncoder):
    """An encoder that runs on torch, on a CPU or GPU; `model` must be in inference mode."""

    def __init__(
        self, model: Any, tokenizer: Tokenizer, settings: EncoderSettings | None = None, about: dict[str, Any] | None = None
    ) -> None:
        require_vocabulary(tokenizer, model.config.vocab_size)
        settings = settings or EncoderSettings()
        settings = settings.update(length=min(settings.length, max_length(model)))
        super().__init__(tokenizer, settings, model.config.pad_token_id, about)
        self.width: int = model.config.hidden_size
        self.precision = str(model.dtype).removeprefix("torch.")
        self._model = model

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
        """Open the encoder in a folder; `settings` default to the settings stored in the folder.

        `name` overrides the folder name in result metadata.
        """
        folder = Path(folder)
        model = open_body(folder, precision, device=device)
        about = about_model(folder, name, sum(parameter.numel() for parameter in model.parameters()))
        return cls(model, Tokenizer.open(folder), settings or read_settings(folder), about)

    def encode(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Vectors:
        """Return the vectors of texts (see `TextEncoder.encode`), with the same number of threads in every calling thread."""
        fix_thread_count()
        return super().encode(texts, progress=progress)

    def _vectors(self, ids: Rows, mask: Rows) -> Vectors:
        device = self._model.device
        tokens, is_token = (torch.from_numpy(each).to(device) for each in (ids, mask))
        with torch.inference_mode():
            found = require_finite(vectors_of(self._model, tokens, is_token, self.settings))
        return np.asarray(found.cpu().numpy(), dtype=np.float32)


def open_body(folder: Path, precision: Precision = "auto", *, device: str = "auto") -> Any:
    """Open the model of an encoder's folder for inference, without its pooler layer, which none of our poolings uses."""
    model = open_pretrained(FAMILIES, folder, precision, device=device, what="an encoder", spare="pooler.")
    require_readable(model.config.pad_token_id, model.config.vocab_size, max_length(model), folder)
    model.pooler = None
    return model


def max_length(model: Any) -> int:
    """Return the maximum input length; position ids of RoBERTa-like models start at pad_token_id + 1."""
    positions = getattr(model.embeddings, "position_embeddings", None)
    first = getattr(positions, "padding_idx", None)
    return int(model.config.max_position_embeddings) - (0 if first is None else first + 1)
