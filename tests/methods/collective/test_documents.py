"""Tests of encoding whole documents: a token's vector depends only on its window, not on the batch or on distant text."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from onym.methods.collective import documents, torch_documents
from onym.methods.collective.documents import windows
from onym.methods.collective.torch_documents import TorchDocumentReader
from onym.models.tokens import Placed, Tokenizer
from onym.models.torch_encoder import open_body
from onym.text.analysis import analyse, analysis_of
from onym.types import Document

WORDS = ["fever", "heart attack", "hypertension", "pain", "of", "the", "cold"]
LENGTH, OVERLAP = 24, 8


def text(seed: int, words: int) -> str:
    draw = torch.Generator().manual_seed(seed)
    return " ".join(WORDS[int(torch.randint(len(WORDS), (1,), generator=draw))] for _ in range(words))


def document(seed: int, words: int) -> Document:
    return Document(str(seed), text(seed, words))


@pytest.fixture(scope="module")
def reader(bert_folder: Path) -> TorchDocumentReader:
    return TorchDocumentReader(open_body(bert_folder, "fp32"), Tokenizer.open(bert_folder), length=LENGTH, overlap=OVERLAP)


def test_token_vectors_come_from_their_window(reader: TorchDocumentReader) -> None:
    (read,) = reader.read([document(0, 30)])
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
def test_vectors_do_not_depend_on_other_documents(
    reader: TorchDocumentReader, monkeypatch: pytest.MonkeyPatch, budget: int
) -> None:
    alone = [next(reader.read([document(seed, 5 + 9 * seed)])).states for seed in range(6)]
    monkeypatch.setattr(torch_documents, "_BUDGET", budget)
    monkeypatch.setattr(documents, "_TOGETHER", 40)
    together = list(reader.read(document(seed, 5 + 9 * seed) for seed in range(6)))
    for one, other in zip(alone, together, strict=True):
        torch.testing.assert_close(one, other.states, atol=1e-5, rtol=1e-4)


def test_text_outside_the_window_does_not_matter(reader: TorchDocumentReader) -> None:
    start = text(0, 40)
    longer = [Document("1", start + " fever" * 20), Document("2", start + " pain" * 30)]
    one, other = (read.states for read in reader.read(longer))
    (last,) = [len(read.tokens) for read in reader.read([Document("3", start)])]
    settled = max(window.last for window in windows(last, LENGTH - 2, OVERLAP) if window.end < last)
    assert settled > LENGTH
    torch.testing.assert_close(one[:settled], other[:settled], atol=1e-5, rtol=1e-4)


def test_documents_without_tokens(reader: TorchDocumentReader) -> None:
    (read,) = reader.read([Document("1", "")])
    assert (len(read.tokens), tuple(read.states.shape)) == (0, (0, reader.width))
    assert list(reader.read([])) == []


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that records the number of documents in each model call."""
    counts: list[int] = []
    own = TorchDocumentReader._encode

    def encode(reader: TorchDocumentReader, texts: list[Placed]) -> list[torch.Tensor]:
        counts.append(len(texts))
        return own(reader, texts)

    monkeypatch.setattr(TorchDocumentReader, "_encode", encode)
    return counts


def test_document_with_analysis_is_encoded_once(
    reader: TorchDocumentReader, readings: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_TOGETHER", 40)
    docs = [analyse(document(seed, 30)) for seed in range(4)]
    first = list(reader.read([*docs, docs[0]]))
    assert list(reader.read(docs)) == first[:4]
    assert first[4] is first[0]
    assert sum(readings) == 4
    assert [len(analysis_of(doc).readings) for doc in docs] == [1, 1, 1, 1]


def test_vectors_are_not_cached_without_analysis(reader: TorchDocumentReader, readings: list[int]) -> None:
    doc = document(0, 5)
    first, again = next(reader.read([doc])), next(reader.read([doc]))
    torch.testing.assert_close(first.states, again.states)
    assert sum(readings) == 2


def test_readers_with_equal_key_share_vectors(bert_folder: Path, readings: list[int]) -> None:
    model, tokenizer, doc = open_body(bert_folder, "fp32"), Tokenizer.open(bert_folder), analyse(document(0, 5))
    one, other, alone = (TorchDocumentReader(model, tokenizer, key=key) for key in ("a", "a", ""))
    assert next(one.read([doc])) is next(other.read([doc]))
    assert next(alone.read([doc])) is not next(one.read([doc]))
    assert alone.key != TorchDocumentReader(model, tokenizer).key
    assert sum(readings) == 2
