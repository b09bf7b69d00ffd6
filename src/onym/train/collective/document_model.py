"""Training of models that encode whole documents, shared by the collective and the detect stage.

Contains the torch module with its loss, the trainer, the batching of windows, and F1.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from transformers import TrainerCallback

from onym.methods.collective.documents import TokenWindow
from onym.methods.collective.model import Collective, Heads
from onym.methods.collective.settings import NAMES, CollectiveSettings
from onym.methods.collective.torch_documents import TorchDocumentReader, window_rows
from onym.methods.tagger.spans import word_spans
from onym.models.encoder import TokenBatch
from onym.models.settings import EncoderSettings
from onym.models.tokens import Placed, Tokenizer
from onym.models.torch_encoder import Encoder, comparable, token_vectors, vectors_of
from onym.models.torch_loading import in_precision, quiet
from onym.store.output import whole_file
from onym.train.configs import CollectiveLossConfig, EpochOptimConfig
from onym.train.dense.pairs import Floats, Negatives
from onym.train.samples.base import Batch, Ints, RepeatedSamples
from onym.train.trainer import Dev, ModelTrainer
from onym.types import Document

THRESHOLDS = tuple(step / 20 for step in range(2, 19))
Miner = Callable[[Any], None]
"""Ranks the hard negatives again with the current model."""
FrozenNames = Callable[[Ints], Floats]
"""Returns the stored embeddings of names by their ids."""
Item = tuple[int | str, ...]
"""A predicted or gold item: a span, optionally with a concept or a type."""


@dataclass(frozen=True, slots=True)
class DocumentWindow:
    """A window of a document; token offsets count from the start of the document."""

    doc: Document
    tokens: Placed
    window: TokenWindow

    def word_spans(self, max_tokens: int) -> Ints:
        """Return all spans of whole words in the window, of at most `max_tokens` tokens. *Shape:* (spans, 2)."""
        found = word_spans(self.doc.text, self.tokens, max_tokens)
        return found[(found[:, 0] >= self.window.start) & (found[:, 1] <= self.window.end)]


def window_room(tokenizer: Tokenizer, length: int) -> int:
    """Return how many document tokens fit in a window of `length` tokens, next to the special tokens."""
    return length - len(tokenizer.before) - len(tokenizer.after)


def window_batch(tokenizer: Tokenizer, windows: Sequence[DocumentWindow], pad: int) -> tuple[Batch, list[int]]:
    """Return windows as tensors, and for each window the shift from document tokens to rows of the flattened batch."""
    ids, mask = window_rows(tokenizer, [(each.tokens, each.window) for each in windows], pad)
    shifts = [row * ids.shape[1] + len(tokenizer.before) - each.window.start for row, each in enumerate(windows)]
    return {"input_ids": ids, "attention_mask": mask}, shifts


class CollectiveModule(nn.Module):
    """A document encoder `body`, a name encoder `names` (None for a pure detector), and the heads, with their joint loss."""

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
        """Return the summed loss of a batch: linking loss over mentions plus detection loss over spans or words."""
        # shape (rows * tokens, width)
        states = token_vectors(self.body, batch["input_ids"], batch["attention_mask"]).flatten(0, 1)
        total = states.sum() * 0
        if self.heads.detect != "none":
            total = total + self.loss.detect * self._detection_loss(states, batch)
        if self.names is not None and len(batch["firsts"]) and "is_positive" in batch:
            total = total + self.loss.link * self._linking_loss(states, batch)
        return total

    def _detection_loss(self, states: Tensor, batch: Batch) -> Tensor:
        """Return the detection loss, summed over all spans or all words."""
        if self.heads.detect == "tags":
            return cross_entropy(self.heads.tag_scores(states[batch["words"]]), batch["tags"], reduction="sum")
        scores = self.heads.span_scores(states, batch["span_firsts"], batch["span_lasts"])
        is_mention = batch["is_mention"].reshape(scores.shape).to(scores.dtype)
        # labels that the corpus does not annotate get weight 0
        known = batch["is_known"].to(scores.dtype) if "is_known" in batch else None
        return binary_cross_entropy_with_logits(scores, is_mention, weight=known, reduction="sum")

    def _linking_loss(self, states: Tensor, batch: Batch) -> Tensor:
        """Return the linking loss: -log of the summed softmax of a mention's positive names over all names of the batch."""
        mentions = comparable(self.heads.vectors(states, batch["firsts"], batch["lasts"]), self.settings)
        names = batch.get("name_vectors")
        if names is None:
            names = vectors_of(self.names, batch["name_ids"], batch["name_mask"], self.settings)
        scores = self.loss.scale * mentions @ names.to(mentions.dtype).T  # shape (mentions, names)
        positive = scores.masked_fill(~batch["is_positive"], -torch.inf)
        return (scores.logsumexp(1) - positive.logsumexp(1)).sum()

    def save_pretrained(self, folder: Path | str, state_dict: dict[str, Tensor] | None = None) -> None:
        """Write all weights to one file, for a checkpoint."""
        state = self.state_dict() if state_dict is None else state_dict
        with whole_file(Path(folder) / "model.safetensors", force=True) as file:
            file.write(save({name: value.contiguous() for name, value in state.items()}))


class CollectiveTrainer(ModelTrainer):
    """Trainer on windows of documents. `negatives` samples the names to compare mentions with; `mine` ranks them again.

    `reading` tokenises names. If the name encoder is frozen, `frozen_names` returns stored name embeddings instead.
    """

    metric = "eval_dev_f1"

    def __init__(
        self,
        model: Any,
        windows: RepeatedSamples[Any],
        collate: Callable[[Sequence[Any]], Batch],
        folder: Path,
        optim: EpochOptimConfig,
        *,
        reading: TokenBatch | None = None,
        negatives: Negatives | None = None,
        frozen_names: FrozenNames | None = None,
        mine: Miner | None = None,
        dev: Dev | None = None,
        patience: int = 0,
    ) -> None:
        super().__init__(model, windows, collate, folder, optim, dev=dev, patience=patience)
        self.reading, self.negatives, self.frozen_names = reading, negatives, frozen_names
        if mine is not None:
            each = max(1, windows.epoch // (optim.batch_size * optim.gradient_accumulation * self.accelerator.num_processes))
            self.add_callback(_Mining(lambda: mine(self.accelerator.unwrap_model(self.model)), each))

    def batch_loss(self, model: Any, inputs: Batch) -> Tensor:
        """Return the summed loss of a batch."""
        loss: Tensor = model(**inputs, **self._names(inputs))
        return loss

    def items(self, inputs: Batch) -> int:
        """Return the number of windows. Mentions are not counted, because some batches have no mentions."""
        return len(inputs["input_ids"])

    def _names(self, inputs: Batch) -> Batch:
        """Sample the names for a batch's mentions. Done here, not in the data loader, to use the latest mined negatives."""
        if self.negatives is None or self.reading is None or not len(numbers := inputs["numbers"]):
            return {}
        names = self.negatives.sample(numbers.tolist(), self.state.global_step)
        found: dict[str, npt.NDArray[Any]] = {"is_positive": self.negatives.is_positive(numbers.tolist(), names)}
        if self.frozen_names is not None:
            found["name_vectors"] = self.frozen_names(np.array(names, dtype=np.int64))
        else:
            texts = [self.negatives.kb.names[name] for name in names]
            found["name_ids"], found["name_mask"] = self.reading.rows(
                self.reading.tokenizer.ids_of(texts), np.arange(len(texts))
            )
        return {name: torch.from_numpy(value).to(numbers.device) for name, value in found.items()}

    def write(self, folder: Path) -> None:
        """Write the trained encoders in Hugging Face layout; all other files come from the context."""
        bare = self.accelerator.unwrap_model(self.model)
        with quiet():
            bare.body.save_pretrained(folder)
            if bare.names is not None and self.frozen_names is None:
                bare.names.save_pretrained(folder / NAMES)


class _Mining(TrainerCallback):  # type: ignore[misc]
    """Callback that mines hard negatives at the start of every epoch except the first."""

    def __init__(self, mine: Callable[[], None], each: int) -> None:
        self._mine, self._each = mine, each

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - as Trainer calls it
        if state.global_step and state.global_step % self._each == 0:
            self._mine()


def inference_model(
    module: CollectiveModule, tokenizer: Tokenizer, names: Tokenizer, settings: CollectiveSettings
) -> Collective:
    """Return an inference copy of a module that is being trained; `names` is the tokenizer of names."""
    reader = TorchDocumentReader(in_precision(module.body, "auto"), tokenizer, length=settings.window, overlap=settings.overlap)
    heads = copy.deepcopy(module.heads).cpu().float().eval().requires_grad_(False)
    encoder = None if module.names is None else Encoder(in_precision(module.names, "auto"), names, module.settings)
    return Collective(reader, heads, settings, encoder)


def f1(gold: Sequence[Sequence[Item]], found: Sequence[Sequence[Item]]) -> float:
    """Return micro F1 over all documents, in percent.

    >>> f1([[(0, 5), (7, 9)]], [[(0, 5)]])
    66.66666666666667
    """
    right = sum(len(set(one) & set(other)) for one, other in zip(gold, found, strict=True))
    count = sum(len(set(each)) for each in (*gold, *found))
    return 100 * 2 * right / count if count else 0.0
