"""Tests that encoding whole documents and encoding windows give the same vectors if a window covers the document."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.speed.collective_speed import all_at_once, one_at_a_time

from onym.methods.collective.model import Collective
from onym.types import Document, Mention
from tests.support.models import save_collective

TEXT = "A heart attack, then fever."
DOCS = [
    Document(str(number), f"{TEXT} {'no ' * number}", (Mention(2, 14, "heart attack"), Mention(21, 26, "fever")))
    for number in range(3)
]


@pytest.mark.parametrize("represent", ["ends", "mean"])
def test_documents_and_windows_give_the_same_vectors(tmp_path: Path, represent: str) -> None:
    model = Collective.open(save_collective(tmp_path / "m", represent=represent, window=60, links=False), "fp32")
    together, alone = all_at_once(model, DOCS), one_at_a_time(model, DOCS)
    assert together.shape == alone.shape == (6, 16)
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_encodes_a_window_of_a_long_document(tmp_path: Path) -> None:
    model = Collective.open(save_collective(tmp_path / "m", window=60, links=False), "fp32")
    model.reader.model.config.max_position_embeddings = 64
    long = Document("1", "fever " * 8, (Mention(0, 5, "fever"), Mention(24, 29, "fever")))
    assert one_at_a_time(model, [long]).shape == (2, 16)
