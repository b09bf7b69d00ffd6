"""Samples as tensors: padded sources, the decoder's input, and labels of the name and its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from onym.train.losses.log_probs import IGNORED
from onym.train.samples.base import Batch, Pair, Sample

_UNBOUNDED = 1_000_000


@dataclass(frozen=True, slots=True)
class NameCollate:
    """Makes a batch for a model that starts with `start`, ends with `eos` and fills with `pad`.

    `max_length` is how many tokens its decoder can read; a longer name is cut.

    >>> batch = NameCollate(start=2, eos=2, pad=1)([Sample([0, 7, 2], [8], [9, 9])])
    >>> batch["decoder_input_ids"].tolist(), batch["labels"].tolist()
    ([[2, 8, 9, 9]], [[-100, 9, 9, 2]])
    """

    start: int
    eos: int
    pad: int
    max_length: int = _UNBOUNDED

    def __call__(self, samples: Sequence[Sample]) -> Batch:
        """Return the batch of samples, in their order."""
        sources = [sample.source for sample in samples]
        return self._sources(sources) | self._targets([(sample.prompt, sample.name) for sample in samples])

    def pairs(self, pairs: Sequence[Pair]) -> Batch:
        """Return the batch of pairs: the right name of each, then its wrong one, in two rows one after the other."""
        sources = [pair.source for pair in pairs for _ in range(2)]
        targets = [(pair.prompt, name) for pair in pairs for name in (pair.preferred, pair.rejected)]
        reference = torch.tensor([pair.reference for pair in pairs])
        return self._sources(sources) | self._targets(targets) | {"reference": reference}

    def _sources(self, sources: Sequence[Sequence[int]]) -> Batch:
        ids = _padded(sources, self.pad)
        lengths = torch.tensor([len(source) for source in sources])
        return {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]) < lengths[:, None]).long()}

    def _targets(self, targets: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Batch:
        inputs = [[self.start, *prompt, *name][: self.max_length] for prompt, name in targets]
        labels = [[*(IGNORED for _ in prompt), *name, self.eos][: self.max_length] for prompt, name in targets]
        return {"decoder_input_ids": _padded(inputs, self.pad), "labels": _padded(labels, IGNORED)}


def _padded(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    length = max(len(row) for row in rows)
    return torch.tensor([[*row, *(fill for _ in range(length - len(row)))] for row in rows])
