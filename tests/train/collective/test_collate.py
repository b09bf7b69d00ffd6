"""Windows as tensors: places count through the whole batch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from onym.models.collective import BEGIN, INSIDE, OUTSIDE
from onym.models.tokens import Tokenizer
from onym.train.collective.collate import WindowCollate
from onym.train.samples.windows import TrainingWindow, TrainingWindows
from onym.types import Document, Mention

TEXT = "Fever came. Then a heart attack, and later on fevers again."
MENTIONS = (
    Mention(0, 5, "Fever", ("mesh:D005334",)),
    Mention(19, 31, "heart attack", ("mesh:D009203",)),
    Mention(25, 31, "attack", ("mesh:D009203",)),
    Mention(46, 52, "fevers", ("mesh:D0",)),
)
DOC = Document("1", TEXT, MENTIONS)
PAD = 1


@pytest.fixture
def tokens(encoder: Path) -> Tokenizer:
    return Tokenizer.open(encoder)


def shown(tokens: Tokenizer) -> list[TrainingWindow]:
    windows = TrainingWindows(
        [DOC, Document("2", "No.")], [(DOC, mention) for mention in MENTIONS[:2]], tokens, room=18, overlap=8
    )
    return windows.__getitems__(range(windows.epoch))


def surface(windows: list[TrainingWindow], shape: torch.Size, first: int, last: int) -> str:
    row, at = divmod(first, shape[1])
    window = windows[row]
    start = at - 1 + window.window.start
    return window.doc.text[window.tokens.starts[start] : window.tokens.ends[start + last - first - 1]]


def test_mentions_and_all_spans(tokens: Tokenizer) -> None:
    windows = shown(tokens)
    batch = WindowCollate(tokens, PAD, "spans", 9)(windows)
    shape = batch["input_ids"].shape
    linked = {
        (surface(windows, shape, first, last), number)
        for first, last, number in zip(*(batch[name].tolist() for name in ("firsts", "lasts", "numbers")), strict=True)
    }
    assert linked == {("Fever", 0), ("heart attack", 1)}
    spans = list(zip(*(batch[name].tolist() for name in ("span_firsts", "span_lasts", "is_mention")), strict=True))
    right = {surface(windows, shape, first, last) for first, last, is_mention in spans if is_mention}
    assert right == {"Fever", "heart attack", "attack", "fevers"}
    assert "came" in {surface(windows, shape, first, last) for first, last, is_mention in spans if not is_mention}
    flat = batch["attention_mask"].flatten()
    assert all(flat[first:last].all() for first, last, _ in spans)


def test_tags_of_words(tokens: Tokenizer) -> None:
    windows = shown(tokens)
    batch = WindowCollate(tokens, PAD, "tags", 9)(windows)
    assert "span_firsts" not in batch
    tagged: dict[str, set[int]] = {}
    for word, tag in zip(batch["words"].tolist(), batch["tags"].tolist(), strict=True):
        row, at = divmod(word, batch["input_ids"].shape[1])
        start = int(windows[row].tokens.starts[at - 1 + windows[row].window.start])
        tagged.setdefault(windows[row].doc.text[start:].split()[0], set()).add(tag)
    assert tagged["Fever"] == {BEGIN}
    assert INSIDE in tagged["attack,"], "a mention inside another is no mention of its own"
    assert tagged["came."] == {OUTSIDE}


def test_nothing_is_looked_for(tokens: Tokenizer) -> None:
    batch = WindowCollate(tokens, PAD, "none", 9)(shown(tokens))
    assert set(batch) == {"input_ids", "attention_mask", "firsts", "lasts", "numbers"}
    empty = WindowCollate(tokens, PAD, "spans", 9)([window for window in shown(tokens) if window.doc.id == "2"])
    assert len(empty["firsts"]) == 0
    assert not empty["is_mention"].any()
