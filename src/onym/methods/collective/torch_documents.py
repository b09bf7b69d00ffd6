"""Encode whole documents with torch: windows of several documents are padded and batched together."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from onym.methods.collective.documents import DocumentReader, TokenWindow
from onym.models.encoder import batches, pad_rows
from onym.models.tensors import require_finite
from onym.models.tokens import Placed, Tokenizer
from onym.models.torch_encoder import token_vectors
from onym.models.torch_loading import fix_thread_count

_BUDGET = 2_048  # tokens per batch, including padding, so that activations fit into the CPU cache


class TorchDocumentReader(DocumentReader):
    """Encodes documents with a torch model, on a CPU or GPU; the token vectors are on the CPU."""

    def __init__(self, model: Any, tokenizer: Tokenizer, *, length: int = 256, overlap: int = 64, key: str = "") -> None:
        super().__init__(tokenizer, length=length, overlap=overlap, key=key)
        self.model = model

    @property
    def width(self) -> int:
        """The dimension of the token vectors."""
        return int(self.model.config.hidden_size)

    @torch.inference_mode()
    def _encode(self, texts: list[Placed]) -> list[Tensor]:
        fix_thread_count()
        states = [torch.zeros(len(tokens), self.width) for tokens in texts]
        rows = [(text, window) for text, tokens in enumerate(texts) for window in self._windows(len(tokens))]
        lengths = np.array([window.end - window.start for _, window in rows], dtype=np.int64)
        for batch in batches(lengths, _BUDGET):
            selected = [rows[row] for row in batch.tolist()]
            hidden = self._hidden([(texts[text], window) for text, window in selected])
            before = len(self.tokenizer.before)
            for row, (text, window) in enumerate(selected):
                own = slice(before + window.first - window.start, before + window.last - window.start)
                states[text][window.first : window.last] = hidden[row, own]
        return states

    def _hidden(self, parts: list[tuple[Placed, TokenWindow]]) -> Tensor:
        """Return the vectors of the tokens of windows, with special tokens. *Shape:* (windows, tokens, width)."""
        device = self.model.device
        ids, mask = window_rows(self.tokenizer, parts, self.model.config.pad_token_id)
        return require_finite(token_vectors(self.model, ids.to(device), mask.to(device))).cpu()


def window_rows(tokenizer: Tokenizer, parts: list[tuple[Placed, TokenWindow]], pad: int) -> tuple[Tensor, Tensor]:
    """Return input ids and attention mask of windows, with special tokens added. *Shape:* both (windows, tokens)."""
    before, after = list(tokenizer.before), list(tokenizer.after)
    rows = [[*before, *tokens.ids[window.start : window.end].tolist(), *after] for tokens, window in parts]
    ids, mask = pad_rows(rows, pad)
    return torch.from_numpy(ids), torch.from_numpy(mask)
