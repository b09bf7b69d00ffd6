"""Tests of token batches: truncation, special tokens and padding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onym.models.encoder import TokenBatch
from onym.models.settings import EncoderSettings
from onym.models.tokens import Tokenizer

TEXTS = ["heart attack", "", "high blood pressure " * 9]


@pytest.fixture(scope="module")
def tokens(bert_folder: Path) -> Tokenizer:
    return Tokenizer.open(bert_folder)


@pytest.mark.parametrize("length", [4, 9, 100])
def test_rows_have_special_tokens_and_padding(tokens: Tokenizer, length: int) -> None:
    reading = TokenBatch(tokens, EncoderSettings(length=length), pad=1)
    read = tokens.ids_of(TEXTS)
    ids, mask = reading.rows(read, np.arange(3))
    wanted = [[0, *tokens.ids(text)[: length - 2], 2] for text in TEXTS]
    assert [row[is_read == 1].tolist() for row, is_read in zip(ids, mask, strict=True)] == wanted
    assert (ids[mask == 0] == 1).all()
    assert ids.shape == mask.shape == (3, max(map(len, wanted)))
    assert reading.lengths(read).tolist() == list(map(len, wanted))
    assert reading.rows(read, np.array([1]))[0].tolist() == [[0, 2]]


def test_rows_of_fixed_length(tokens: Tokenizer) -> None:
    reading = TokenBatch(tokens, EncoderSettings(pooling="mean-all", length=9), pad=1)
    read = tokens.ids_of(TEXTS)
    assert reading.lengths(read).tolist() == [9, 9, 9]
    ids, mask = reading.rows(read, np.array([1, 0]))
    assert ids.shape == (2, 9)
    assert mask.sum(1).tolist()[0] == 2
