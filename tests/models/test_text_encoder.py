"""Tests of the base class of encoders: deduplication, digests and the tokenizer check."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.errors import ConfigError
from onym.models.encoder import Rows, TextEncoder, Vectors, about_model, require_vocabulary
from onym.models.settings import EncoderSettings
from onym.models.tokens import Tokenizer


class Counting(TextEncoder):
    """Encodes a text as its number of tokens."""

    width, precision = 1, "float32"

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer, EncoderSettings(length=8), pad=1)
        self.read = 0

    def _vectors(self, ids: Rows, mask: Rows) -> Vectors:
        self.read += len(ids)
        return np.asarray(mask.sum(1, keepdims=True), dtype=np.float32)


def test_texts_are_deduplicated_and_truncated(bert_folder: Path) -> None:
    encoder, seen = Counting(Tokenizer.open(bert_folder)), list[int]()
    found = encoder.encode(["fever", "mi", "fever", "a very long name of a disease"], progress=seen.append)
    assert encoder.read == 3
    assert seen[-1] == 3
    assert found[0] == found[2]
    assert found[3] == 8
    assert encoder.encode([]).shape == (0, 1)


def test_digest_and_config_cover_everything_vectors_depend_on(bert_folder: Path) -> None:
    encoder = Counting(Tokenizer.open(bert_folder))
    assert encoder.config | {"precision": "float32", "length": 8, "pooling": "cls"} == encoder.config
    assert len(encoder.digest) == 16


def test_model_metadata(bert_folder: Path) -> None:
    about = about_model(bert_folder, "", 5)
    assert (about["model"], about["parameters"]) == ("tiny-bert", 5)
    assert about_model(bert_folder, "hub/name", 5)["model"] == "hub/name"


def test_rejects_tokenizer_of_another_model(bert_folder: Path) -> None:
    tokenizer = Tokenizer.open(bert_folder)
    require_vocabulary(tokenizer, tokenizer.vocabulary)
    with pytest.raises(ConfigError, match="model-tokenizer"):
        require_vocabulary(tokenizer, tokenizer.vocabulary - 1)
