"""Tests of tokenizers: ids, the special tokens around a text, and invalid files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onym.errors import ConfigError, InputError
from onym.models.tokens import Tokenizer
from tests.text.small_bpe import SPECIAL, tokenizer_json

pytest.importorskip("tokenizers")


@pytest.fixture(scope="module")
def tokens() -> Tokenizer:
    return Tokenizer(tokenizer_json())


def test_special_tokens_around_a_text(tokens: Tokenizer) -> None:
    assert (tokens.before, tokens.after, tokens.eos) == ((0,), (2,), 2)
    assert tokens.vocabulary == 1 + max(json.loads(tokenizer_json())["model"]["vocab"].values())
    assert tokens.ids("") == []


def test_tokenizer_without_special_tokens_around_a_text() -> None:
    data = json.loads(tokenizer_json())
    data["post_processor"] = None
    plain = Tokenizer(json.dumps(data).encode())
    assert (plain.before, plain.after, plain.eos) == ((), (), 2)


@given(st.text())
def test_ids_round_trip(text: str) -> None:
    tokens = Tokenizer(tokenizer_json())
    ids = tokens.ids(text)
    assert tokens.text(ids) == text
    assert all(4 <= token < tokens.vocabulary for token in ids)


@given(st.lists(st.text(), max_size=5))
def test_batch_agrees_with_single_texts(texts: list[str]) -> None:
    tokens = Tokenizer(tokenizer_json())
    found = tokens.ids_of(texts)
    assert [found[i].tolist() for i in range(len(found))] == [tokens.ids(text) for text in texts]


@pytest.mark.parametrize("special", SPECIAL)
def test_text_cannot_contain_special_tokens(tokens: Tokenizer, special: str) -> None:
    """`</s>` in a document is tokenised as plain text, and does not end the encoder input."""
    text = f" a {special} man"
    assert not set(tokens.ids(text)) & set(range(len(SPECIAL)))
    assert tokens.ids_of([text])[0].tolist() == tokens.ids(text)
    assert tokens.text(tokens.ids(text)) == text


def test_ignores_truncation_and_padding_settings() -> None:
    data = json.loads(tokenizer_json())
    data["truncation"] = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    data["padding"] = {
        "strategy": {"Fixed": 50},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 1,
        "pad_type_id": 0,
        "pad_token": "<pad>",
    }
    cut, whole = Tokenizer(json.dumps(data).encode()), Tokenizer(tokenizer_json())
    assert cut.ids(" the patient is a man") == whole.ids(" the patient is a man")
    assert (cut.before, cut.after) == (whole.before, whole.after)


def test_the_digest_is_of_the_file() -> None:
    other = tokenizer_json() + b" "
    assert Tokenizer(tokenizer_json()).digest == Tokenizer(tokenizer_json()).digest != Tokenizer(other).digest


def test_opening_a_folder(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(tokenizer_json())
    assert Tokenizer.open(tmp_path).digest == Tokenizer(tokenizer_json()).digest
    assert Tokenizer.open(str(tmp_path)).eos == 2


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Tokenizer.open(tmp_path)
    assert caught.value.code == "tokenizer-missing"
    assert str(tmp_path) in caught.value.where


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b"\xff\x00", b'{"version": "1.0", "model": {"type": "BPE"}}'])
def test_rejects_malformed_files(data: bytes) -> None:
    with pytest.raises(InputError) as caught:
        Tokenizer(data, "there")
    assert (caught.value.code, caught.value.where) == ("tokenizer-malformed", "there")


def change_tokenizer(**parts: Any) -> bytes:
    """Return a tokenizer file with some of its components replaced."""
    return json.dumps(json.loads(tokenizer_json()) | parts).encode()


def template(*pieces: str, ids: tuple[int, ...] = (0,)) -> dict[str, Any]:
    single = [{"SpecialToken": {"id": piece, "type_id": 0}} for piece in pieces] + [{"Sequence": {"id": "A", "type_id": 0}}]
    special = {"<s>": {"id": "<s>", "ids": list(ids), "tokens": ["<s>"] * len(ids)}}
    return {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": special}


@pytest.mark.parametrize(
    "part", [template("<none>"), template("<s>", ids=(99_999,)), template(*["<s>"] * 17), template("<s>", ids=(0,) * 17)]
)
def test_rejects_invalid_special_tokens(part: dict[str, Any]) -> None:
    """The first of these files makes the tokenizers library panic."""
    with pytest.raises(InputError, match="tokenizer-malformed"):
        Tokenizer(change_tokenizer(post_processor=part))


def test_rejects_tokenizer_without_its_unknown_token() -> None:
    vocabulary = {"</s>": 0, "a": 1}
    model = {"type": "WordPiece", "unk_token": "[U]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    with pytest.raises(InputError, match="tokenizer-malformed"):
        Tokenizer(change_tokenizer(model=model | {"vocab": vocabulary}, post_processor=None, added_tokens=[]))


def test_rejects_empty_vocabulary() -> None:
    model = {"type": "BPE", "vocab": {}, "merges": []}
    with pytest.raises(InputError, match="tokenizer-malformed"):
        Tokenizer(change_tokenizer(model=model))


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_rejects_lone_surrogates(tokens: Tokenizer, text: str) -> None:
    for act in (tokens.ids, tokens.tokenize_with_offsets, lambda text: tokens.ids_of(["fine", text])):
        with pytest.raises(InputError, match="input-encoding"):
            act(text)


def test_reports_tokenizer_failures_without_the_text(tokens: Tokenizer) -> None:
    with pytest.raises(InputError, match="tokenizer-failed") as caught:
        tokens.text([-1])
    assert caught.value.__suppress_context__, "what the library says may hold the text"


def test_rejects_symlink_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_bytes(tokenizer_json())
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").symlink_to("../outside.json")
    with pytest.raises(InputError, match="model-outside"):
        Tokenizer.open(tmp_path / "model")


def test_rejects_tokenizer_without_end_token() -> None:
    data = tokenizer_json().replace(b"</s>", b"<end>")
    with pytest.raises(InputError) as caught:
        Tokenizer(data)
    assert caught.value.code == "tokenizer-malformed"


def test_reports_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    data = tokenizer_json()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ConfigError) as caught:
        Tokenizer(data)
    assert caught.value.code == "extra-missing"
    assert "onym[models]" in str(caught.value)


@settings(max_examples=200)
@given(st.text(st.sampled_from("aB1 -é🙂\u0301\u200b\r\n"), max_size=25))
def test_offsets_cover_all_but_white_space(text: str) -> None:
    found = Tokenizer(tokenizer_json()).tokenize_with_offsets(text)
    assert len(found) == len(found.starts) == len(found.ends)
    covered = [False] * len(text)
    for start, end in zip(found.starts.tolist(), found.ends.tolist(), strict=True):
        assert 0 <= start <= end <= len(text)
        assert text[start:end] == text[start:end].strip()
        covered[start:end] = [True] * (end - start)
    assert all(is_covered or char.isspace() for is_covered, char in zip(covered, text, strict=True))


def test_the_tokens_of_a_span() -> None:
    text = "no heart attack"
    found = Tokenizer(tokenizer_json()).tokenize_with_offsets(text)
    first, last = found.span(3, 8) or (0, 0)
    assert text[found.starts[first] : found.ends[last - 1]] == "heart"
    assert found.span(2, 3) is None
