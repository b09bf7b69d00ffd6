"""A tiny model that reads documents, with random weights, as a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from onym.models.collective import HEADS, NAMES, CollectiveSettings, heads_bytes
from onym.models.settings import EncoderSettings
from onym.testing.tiny_encoder import save_encoder

WIDTH = 16


def save_collective(folder: Path, **settings: Any) -> Path:
    """Write a model; by default it finds mentions by spans and links them by the mean of their tokens."""
    described: dict[str, Any] = {
        "detect": "spans",
        "represent": "mean",
        "window": 32,
        "overlap": 8,
        "max_span_tokens": 8,
        "dim": WIDTH,
    }
    own = CollectiveSettings(**(described | settings))
    save_encoder(folder)
    torch.manual_seed(3)
    (folder / HEADS).write_bytes(heads_bytes(own.heads(WIDTH)))
    (folder / CollectiveSettings.FILE).write_bytes(own.to_bytes())
    if own.links:
        save_encoder(folder / NAMES, seed=1)
        (folder / NAMES / EncoderSettings.FILE).write_bytes(EncoderSettings(pooling="mean", similarity="cosine").to_bytes())
    return folder
