"""Windows of labelled documents, as tensors."""

from __future__ import annotations

from pathlib import Path

import torch

from onym.models.tokens import Tokenizer
from onym.train.collective.detector.corpora import LabelledCorpus
from onym.train.collective.detector.windows import LabelledCollate, LabelledWindows
from onym.types import Document, Mention

ONE = Document("1", "fever and cough", (Mention(0, 5, "fever", ("a:1",), "Disease"), Mention(10, 15, "cough", (), "Gene")))
OTHER = Document("2", "cough", (Mention(0, 5, "cough", ("a:2",), "Disease"),))
CORPORA = [LabelledCorpus("a", (ONE,), {"Disease": 0, "Gene": 1}), LabelledCorpus("b", (OTHER,), {"Disease": 2})]


def test_a_corpus_says_nothing_about_the_labels_of_others(encoder: Path) -> None:
    tokenizer = Tokenizer.open(encoder)
    windows = LabelledWindows(CORPORA, tokenizer, room=20, overlap=4, count=2)
    both = sorted(windows.__getitems__([0, 1]), key=lambda each: each.doc.id)
    batch = LabelledCollate(tokenizer, 0, labels=3, max_span_tokens=10)(both)
    spans = list(zip(batch["span_firsts"].tolist(), batch["span_lasts"].tolist(), strict=True))
    width = batch["input_ids"].shape[1]
    is_first = torch.tensor([first < width for first, _ in spans])
    assert batch["is_known"][is_first].tolist() == [[True, True, False]] * int(is_first.sum())
    assert batch["is_known"][~is_first].tolist() == [[False, False, True]] * int((~is_first).sum())
    assert batch["is_mention"].sum(0).tolist() == [1, 1, 1]
    assert not (batch["is_mention"] & ~batch["is_known"]).any()
    before = len(tokenizer.before)
    fever = tokenizer.placed(ONE.text).span(0, 5)
    assert fever is not None
    assert batch["is_mention"][spans.index((fever[0] + before, fever[1] + before))].tolist() == [True, False, False]


def test_a_document_longer_than_a_window_is_read_in_several(encoder: Path) -> None:
    long = Document("3", "fever " * 60, (Mention(0, 5, "fever", (), "Disease"),))
    windows = LabelledWindows([LabelledCorpus("a", (long,), {"Disease": 0})], Tokenizer.open(encoder), room=20, overlap=4)
    assert windows.epoch > 2
