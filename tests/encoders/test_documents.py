"""Reading whole documents: a token's vector depends on its window alone, not on the batch or on what is far away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from onym.encoders import documents
from onym.encoders.documents import DocumentReader
from onym.encoders.encoder import open_body
from onym.encoders.windows import windows
from onym.text.tokens import Placed, Tokenizer

WORDS = ["fever", "heart attack", "hypertension", "pain", "of", "the", "cold"]
LENGTH, OVERLAP = 24, 8


def text(seed: int, words: int) -> str:
    draw = torch.Generator().manual_seed(seed)
    return " ".join(WORDS[int(torch.randint(len(WORDS), (1,), generator=draw))] for _ in range(words))


@pytest.fixture(scope="module")
def reader(saved: Path) -> DocumentReader:
    return DocumentReader(open_body(saved, "fp32"), Tokenizer.open(saved), length=LENGTH, overlap=OVERLAP, remembered=0)


def test_each_token_is_read_in_its_own_window(reader: DocumentReader) -> None:
    (read,) = reader.read([text(0, 30)])
    tokens, before, after = read.tokens, list(reader.tokenizer.before), list(reader.tokenizer.after)
    found = windows(len(tokens), LENGTH - len(before) - len(after), OVERLAP)
    assert len(found) > 2
    for window in found:
        ids = torch.tensor([[*before, *tokens.ids[window.start : window.end].tolist(), *after]])
        with torch.inference_mode():
            hidden = reader.model(input_ids=ids).last_hidden_state[0, len(before) :]
        own = hidden[window.first - window.start : window.last - window.start]
        torch.testing.assert_close(read.states[window.first : window.last], own, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("budget", [1, 60, 4096])
def test_a_document_does_not_depend_on_its_neighbours(
    reader: DocumentReader, monkeypatch: pytest.MonkeyPatch, budget: int
) -> None:
    alone = [next(reader.read([text(seed, 5 + 9 * seed)])).states for seed in range(6)]
    monkeypatch.setattr(documents, "_BUDGET", budget)
    monkeypatch.setattr(documents, "_TOGETHER", 40)
    together = list(reader.read(text(seed, 5 + 9 * seed) for seed in range(6)))
    for one, other in zip(alone, together, strict=True):
        torch.testing.assert_close(one, other.states, atol=1e-5, rtol=1e-4)


def test_what_is_beyond_the_window_changes_nothing(reader: DocumentReader) -> None:
    start = text(0, 40)
    one, other = (read.states for read in reader.read([start + " fever" * 20, start + " pain" * 30]))
    (last,) = [len(read.tokens) for read in reader.read([start])]
    settled = max(window.last for window in windows(last, LENGTH - 2, OVERLAP) if window.end < last)
    assert settled > LENGTH
    torch.testing.assert_close(one[:settled], other[:settled], atol=1e-5, rtol=1e-4)


def test_nothing_to_read(reader: DocumentReader) -> None:
    (read,) = reader.read([""])
    assert (len(read.tokens), tuple(read.states.shape)) == (0, (0, reader.width))
    assert list(reader.read([])) == []


def test_a_document_is_read_once(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = DocumentReader(open_body(saved, "fp32"), Tokenizer.open(saved), length=LENGTH, overlap=OVERLAP, remembered=30)
    asked: list[int] = []
    own = documents.read_windows

    def read_windows(model: Any, tokenizer: Tokenizer, texts: list[Placed], **more: int) -> list[torch.Tensor]:
        asked.append(len(texts))
        return own(model, tokenizer, texts, **more)

    monkeypatch.setattr(documents, "read_windows", read_windows)
    short, long = text(1, 5), text(2, 30)
    first = list(reader.read([short, short, long]))
    again = list(reader.read([short]))
    assert asked[0] == 2
    assert first[0] is first[1]
    torch.testing.assert_close(first[0].states, again[0].states)
    assert sum(asked) == 3, "what was read before is forgotten when a long one came"
    assert next(reader.read([short])) is again[0]
