from __future__ import annotations

from onym.methods.dense.index.vectors import VectorSource
from onym.types import silent
from tests.methods.dense.index.made import Hashed


def test_an_encoder_is_a_source_of_vectors() -> None:
    source: VectorSource = Hashed()
    assert source.encode(["a", "b"]).shape == (2, source.width)
    silent("nothing", 0)
