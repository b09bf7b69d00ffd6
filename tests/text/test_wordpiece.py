"""A tokenizer of a vocabulary alone, beside the one that the library of tokenizers makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import InputError
from onym.models.tokens import Tokenizer, wordpiece_tokenizer

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fever", "##ish", "high", "-", "e", "##tude", "Fever"]
VOCABULARY = "".join(f"{token}\n" for token in TOKENS).encode()
TEXTS = ("High-feverish", "étude", "unknown fever", "", "e 中 e")


@pytest.mark.parametrize("lowercase", [True, False])
def test_it_reads_texts_as_the_library_does(lowercase: bool, tmp_path: Path) -> None:
    from tokenizers.implementations import BertWordPieceTokenizer

    (tmp_path / "vocab.txt").write_bytes(VOCABULARY)
    expected = BertWordPieceTokenizer(str(tmp_path / "vocab.txt"), lowercase=lowercase, strip_accents=None)
    found = Tokenizer(wordpiece_tokenizer(VOCABULARY, lowercase=lowercase))
    assert [found.ids(text) for text in TEXTS] == [expected.encode(text, add_special_tokens=False).ids for text in TEXTS]
    assert (found.before, found.after) == ((2,), (3,))


def test_the_end_of_a_line_is_no_token() -> None:
    made = [wordpiece_tokenizer(data) for data in (VOCABULARY, VOCABULARY[:-1], VOCABULARY.replace(b"\n", b"\r\n"))]
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("data", [b"fever\n", VOCABULARY + b"\xff\n"])
def test_another_file_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="tokenizer-malformed"):
        wordpiece_tokenizer(data)


@pytest.mark.slow
@pytest.mark.real_models
def test_a_real_vocabulary_gives_the_real_tokenizer(tmp_path: Path) -> None:
    from benchmarks.models import model_folder

    folder = model_folder("minilm")
    made, real = Tokenizer(wordpiece_tokenizer((folder / "vocab.txt").read_bytes())), Tokenizer.open(folder)
    texts = ["Non-small-cell lung carcinoma", "N-acetyl-β-D-glucosamine", "Sjögren's syndrome", "[CLS] 5-FU\u2028x"]
    assert [made.ids(text) for text in texts] == [real.ids(text) for text in texts]
    assert (made.before, made.after, made.vocabulary) == (real.before, real.after, real.vocabulary)
