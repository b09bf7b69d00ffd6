"""A tiny model that reads documents opens as any other."""

from __future__ import annotations

from pathlib import Path

from onym.models.collective import Collective
from onym.testing.tiny_collective import save_collective
from onym.types import Document, Mention


def test_it_opens_and_reads(tmp_path: Path) -> None:
    model = Collective.open(save_collective(tmp_path / "model"), "fp32")
    assert model.settings.detect == "spans"
    vectors, _ = model.mention_vectors([Document("1", "high fever", (Mention(5, 10, "fever"),))])
    assert vectors.shape == (1, 16)
