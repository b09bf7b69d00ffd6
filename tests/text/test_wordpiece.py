"""Tests that a tokenizer built from vocab.txt agrees with that of the tokenizers library."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import InputError
from onym.models.tokens import Tokenizer, wordpiece_tokenizer

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fever", "##ish", "high", "-", "e", "##tude", "Fever"]
VOCABULARY = "".join(f"{token}\n" for token in TOKENS).encode()
TEXTS = ("High-feverish", "étude", "unknown fever", "", "e 中 e")


@pytest.mark.parametrize("lowercase", [True, False])
def test_agrees_with_the_tokenizers_library(lowercase: bool, tmp_path: Path) -> None:
    from tokenizers.implementations import BertWordPieceTokenizer

    (tmp_path / "vocab.txt").write_bytes(VOCABULARY)
    expected = BertWordPieceTokenizer(str(tmp_path / "vocab.txt"), lowercase=lowercase, strip_accents=None)
    found = Tokenizer(wordpiece_tokenizer(VOCABULARY, lowercase=lowercase))
    assert [found.ids(text) for text in TEXTS] == [expected.encode(text, add_special_tokens=False).ids for text in TEXTS]
    assert (found.before, found.after) == ((2,), (3,))


def test_line_ends_do_not_matter() -> None:
    made = [wordpiece_tokenizer(data) for data in (VOCABULARY, VOCABULARY[:-1], VOCABULARY.replace(b"\n", b"\r\n"))]
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("data", [b"fever\n", VOCABULARY + b"\xff\n"])
def test_rejects_invalid_vocabularies(data: bytes) -> None:
    with pytest.raises(InputError, match="tokenizer-malformed"):
        wordpiece_tokenizer(data)


@pytest.mark.slow
@pytest.mark.real_models
def test_agrees_with_a_published_tokenizer(tmp_path: Path) -> None:
    from benchmarks.models import model_folder

    folder = model_folder("minilm")
    made, real = Tokenizer(wordpiece_tokenizer((folder / "vocab.txt").read_bytes())), Tokenizer.open(folder)
    texts = ["Non-small-cell lung carcinoma", "N-acetyl-β-D-glucosamine", "Sjögren's syndrome", "[CLS] 5-FU\u2028x"]
    assert [made.ids(text) for text in texts] == [real.ids(text) for text in texts]
    assert (made.before, made.after, made.vocabulary) == (real.before, real.after, real.vocabulary)
