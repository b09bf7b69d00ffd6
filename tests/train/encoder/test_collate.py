"""A batch of pairs: rows as the encoder reads them, their concepts, and who is no negative of whom."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from onym.kb import KnowledgeBase
from onym.models.settings import EncoderSettings
from onym.models.torch_encoder import Encoder
from onym.train.encoder.collate import PairCollate
from onym.train.samples.positives import PositivePairs
from onym.train.samples.same import labels_of, same_of


def test_rows_are_read_as_the_encoder_reads(encoder: Path, kb_folder: Path) -> None:
    kb = KnowledgeBase.open(kb_folder)
    model = Encoder.open(encoder, EncoderSettings(length=9), "fp32")
    pairs = PositivePairs(kb, count=9).__getitems__(range(9))
    batch = PairCollate(model.reading, kb)(pairs)
    texts = [pair.first for pair in pairs] + [pair.second for pair in pairs]
    ids, mask = model.reading.rows(model.reading.tokenizer.ids_of(texts), np.arange(18))
    assert batch["input_ids"].tolist() == ids.tolist()
    assert batch["attention_mask"].tolist() == mask.tolist()
    assert batch["labels"].tolist() == labels_of(pairs).tolist()
    assert (batch["same"].numpy() == same_of(pairs, kb)).all()
    assert batch["same"].any()
    assert {name: each.dtype for name, each in batch.items()} == {
        "input_ids": torch.int64, "attention_mask": torch.int64, "labels": torch.int64, "same": torch.bool,
    }  # fmt: skip
