"""The collective model in training: both encoders and the heads in one module, and its loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from onym.models.collective import Heads
from onym.models.documents import hidden_of
from onym.models.settings import EncoderSettings
from onym.models.torch_encoder import comparable, vectors_of
from onym.store.output import whole_file
from onym.train.collective.config import CollectiveLossConfig
from onym.train.samples.base import Batch


class CollectiveModule(nn.Module):
    """`body` encodes documents and `names` encodes names; a detector alone has no `names`."""

    def __init__(
        self,
        body: Any,
        names: Any,
        heads: Heads,
        settings: EncoderSettings,
        loss: CollectiveLossConfig,
        *,
        freeze_names: bool = False,
    ) -> None:
        super().__init__()
        self.body, self.names, self.heads = body, names, heads
        self.settings, self.loss = settings, loss
        self.config = body.config
        if names is not None and freeze_names:
            names.requires_grad_(False)

    def forward(self, **batch: Tensor) -> Tensor:
        """Return the sum of the losses of a batch, over its mentions and over its spans or words."""
        states = hidden_of(self.body, batch["input_ids"], batch["attention_mask"]).flatten(0, 1)  # (rows * tokens, width)
        total = states.sum() * 0
        if self.heads.detect != "none":
            total = total + self.loss.detect * self._detection_loss(states, batch)
        if self.names is not None and len(batch["firsts"]) and "is_positive" in batch:
            total = total + self.loss.link * self._linking_loss(states, batch)
        return total

    def _detection_loss(self, states: Tensor, batch: Batch) -> Tensor:
        """Return the loss of detection: over all spans, or over all words."""
        if self.heads.detect == "tags":
            return cross_entropy(self.heads.tag_scores(states[batch["words"]]), batch["tags"], reduction="sum")
        scores = self.heads.span_scores(states, batch["span_firsts"], batch["span_lasts"])
        is_mention = batch["is_mention"].reshape(scores.shape).to(scores.dtype)
        known = batch["is_known"].to(scores.dtype) if "is_known" in batch else None  # the labels that a corpus speaks about
        return binary_cross_entropy_with_logits(scores, is_mention, weight=known, reduction="sum")

    def _linking_loss(self, states: Tensor, batch: Batch) -> Tensor:
        """Return the loss of linking: all positive names of a mention together against all names of the batch."""
        mentions = comparable(self.heads.vectors(states, batch["firsts"], batch["lasts"]), self.settings)
        names = batch.get("name_vectors")
        if names is None:
            names = vectors_of(self.names, batch["name_ids"], batch["name_mask"], self.settings)
        scores = self.loss.scale * mentions @ names.to(mentions.dtype).T  # (mentions, names)
        positive = scores.masked_fill(~batch["is_positive"], -torch.inf)
        return (scores.logsumexp(1) - positive.logsumexp(1)).sum()

    def save_pretrained(self, folder: Path | str, state_dict: dict[str, Tensor] | None = None) -> None:
        """Write all weights as one file, for a checkpoint."""
        state = self.state_dict() if state_dict is None else state_dict
        with whole_file(Path(folder) / "model.safetensors", force=True) as file:
            file.write(save({name: value.contiguous() for name, value in state.items()}))
