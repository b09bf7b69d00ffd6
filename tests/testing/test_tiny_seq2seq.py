"""A tiny seq2seq model opens as any other."""

from __future__ import annotations

from pathlib import Path

from onym.decoding.session import open_model
from onym.models.tokens import Tokenizer
from onym.testing.tiny_seq2seq import save_model


def test_it_opens(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model")
    assert open_model(folder, "fp32").config.model_type == "bart"
    assert Tokenizer.open(folder).ids("fever")
