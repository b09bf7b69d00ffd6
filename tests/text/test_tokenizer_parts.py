"""Tests that expensive tokenizer components are rejected, and those of published tokenizers accepted."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from onym.errors import InputError, LimitError
from onym.store.guards.tokenizer import require_tame
from onym.store.limits import Limits


def tokenizer(model: Any = None, **parts: Any) -> bytes:
    return json.dumps({"model": {"type": "BPE", "vocab": {"a": 0}} | (model or {}), **parts}).encode()


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def sequence(*parts: Any) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(parts)}


def charsmap(*texts: bytes, tree: bytes = b"\0" * 8) -> dict[str, Any]:
    table = len(tree).to_bytes(4, "little") + tree + b"\0".join(texts) + b"\0"
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}


@pytest.mark.parametrize(
    "data",
    [
        tokenizer(),
        tokenizer(normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None, added_tokens=[]),
        tokenizer(normalizer={"type": "BertNormalizer"}, pre_tokenizer={"type": "BertPreTokenizer"}),
        tokenizer(normalizer=sequence(charsmap(b"fi", "لا".encode()), replace(" {2,}", "▁", "Regex"))),
        tokenizer(normalizer=sequence(replace("``", '"'), replace("a", "aaa"), {"type": "Prepend", "prepend": "▁"})),
        tokenizer({"max_input_chars_per_word": 100, "unk_token": None, "dropout": None}),
    ],
)
def test_accepts_common_tokenizers(data: bytes) -> None:
    require_tame(data, "there")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (tokenizer(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+$"}}), "regular expression"),
        (tokenizer(decoder=replace("(a|a)*", "", "Regex")), "regular expression"),
        (tokenizer(normalizer=sequence(*[replace("a", "aa")] * 3)), "many times longer"),
        (tokenizer(normalizer=sequence(sequence(replace("a", "aaaaa")))), "many times longer"),
        (tokenizer(normalizer=replace("", "a")), "many times longer"),
        (tokenizer(normalizer={"type": "Prepend", "prepend": "a" * 65}), "many times longer"),
        (tokenizer(normalizer=sequence(charsmap(b"a"), charsmap(b"a"))), "many times longer"),
        (tokenizer(normalizer=charsmap(b"fi", b"a" * 65)), "a long string"),
        (tokenizer(normalizer={"type": "Script"}), "is unknown"),
        (tokenizer(pre_tokenizer={"type": "FixedLength", "length": 0}), "is unknown"),
        (tokenizer(post_processor=[{"type": "Sequence"}] * 1_001), "components"),
        (tokenizer({"type": "Code"}), "is unknown"),
        (tokenizer({"dropout": 0.5}), "is random"),
        (tokenizer({"max_input_chars_per_word": 10**6}), "max_input_chars_per_word"),
        (tokenizer({"continuing_subword_prefix": "#" * 65}), "prefix"),
        (tokenizer(added_tokens=[{"content": "a" * 1_000_001}]), "added tokens"),
    ],
)
def test_rejects_expensive_components(data: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        require_tame(data, "there")
    assert (caught.value.code, caught.value.where) == ("tokenizer-unsupported", "there")


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b"[]",
        b"\xff",
        b"[" * 10_000,
        b'{"model": {}, "model": {}}',
        tokenizer(added_tokens=[3]),
        tokenizer(normalizer=replace("a", "b") | {"content": 3}),
        tokenizer({"max_input_chars_per_word": "many"}),
        tokenizer(normalizer={"type": ["Replace"]}),
    ],
)
def test_rejects_malformed_files(data: bytes) -> None:
    with pytest.raises(InputError, match="tokenizer-malformed"):
        require_tame(data, "there")


@pytest.mark.parametrize("limits", [Limits(tokenizer_bytes=10), Limits(tokenizer_values=2)])
def test_rejects_files_over_the_limit(limits: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onym.store.guards.tokenizer.DEFAULT_LIMITS", limits)
    with pytest.raises(LimitError, match="limit-model"):
        require_tame(tokenizer(), "there")
