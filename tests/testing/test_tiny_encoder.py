"""Tiny encoders of every family open as any others."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.models.torch_encoder import FAMILIES as KNOWN
from onym.models.torch_encoder import Encoder
from onym.testing.tiny_encoder import FAMILIES, save_encoder


def test_there_is_one_of_each_family() -> None:
    assert set(FAMILIES) == set(KNOWN)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_encodes(tmp_path: Path, family: str) -> None:
    vectors = Encoder.open(save_encoder(tmp_path / family, family), precision="fp32").encode(["fever", "heart attack"])
    assert vectors.shape == (2, 16)
    assert (vectors[0] != vectors[1]).any()
