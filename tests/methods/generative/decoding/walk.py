"""Reads token paths in a session and compares the logits with the model's forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from onym.methods.generative.decoding.adapters import adapter_of
from onym.methods.generative.decoding.session import TreeSession
from tests.methods.generative.decoding.families import logits

Path = tuple[int, ...]


class Walk:
    """Reads token paths and records their slots; `errors` are the deviations of the logits from the forward pass."""

    def __init__(self, model: Any, sources: Sequence[Sequence[int]], prompts: Sequence[Sequence[int]]) -> None:
        self.errors: list[float] = []
        self._model = model
        self._sources, self._prompts = list(sources), list(prompts)
        self._session = TreeSession(adapter_of(model), sources)
        slots, found = self._session.begin(prompts)
        self.slots: list[dict[Path, int]] = [{(): int(slot)} for slot in slots]
        self._compare([(mention, ()) for mention in range(len(sources))], found)

    @property
    def worst(self) -> float:
        return max(self.errors)

    def read(self, paths: Sequence[tuple[int, Path]]) -> None:
        """Read the last token of each path in one pass. The prefix of a path was read before, or comes earlier in `paths`."""
        rows: dict[tuple[int, Path], int] = {}
        parents: list[int] = []
        waves: list[int] = []
        for mention, path in paths:
            above = rows.get((mention, path[:-1]))
            parents.append(self.slots[mention][path[:-1]] if above is None else -1 - above)
            waves.append(0 if above is None else waves[above] + 1)
            rows[mention, path] = len(rows)
        owners = np.array([mention for mention, _ in paths])
        tokens = np.array([path[-1] for _, path in paths])
        slots, found = self._session.read(owners, np.array(parents), tokens, np.array(waves))
        for (mention, path), slot in zip(paths, slots.tolist(), strict=True):
            assert slot not in self.slots[mention].values()
            self.slots[mention][path] = slot
        self._compare(paths, found)

    def keep(self, mentions: Sequence[int]) -> None:
        self._session.keep(np.array(mentions))
        self._sources = [self._sources[mention] for mention in mentions]
        self._prompts = [self._prompts[mention] for mention in mentions]
        self.slots = [self.slots[mention] for mention in mentions]

    def _compare(self, paths: Sequence[tuple[int, Path]], found: Tensor) -> None:
        assert found.shape == (len(paths), self._session.vocabulary)
        for (mention, path), mine in zip(paths, found, strict=True):
            right = logits(self._model, self._sources[mention], [*self._prompts[mention], *path])
            assert torch.isfinite(mine).all()
            self.errors.append(float((mine.float() - right.float()).abs().max()))
