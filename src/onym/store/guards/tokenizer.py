"""What a tokenizer.json may ask for: parts whose time and memory grow with the text, and no faster.

A file describes how texts are normalised, split and looked up. A regular expression may take a time that grows exponentially
with a text, so only those of published tokenizers are allowed; replacements may make a text longer and longer, so their growth
is bounded. All this is looked at before the library of tokenizers sees the file.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from typing import Any

from onym.errors import InputError, LimitError
from onym.store.limits import DEFAULT_LIMITS

_NAMES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")
_PARTS = {
    *("Sequence", "Replace", "Prepend", "Strip", "Lowercase", "StripAccents", "NFC", "NFD", "NFKC", "NFKD", "Nmt"),
    *("BertNormalizer", "Precompiled", "BertPreTokenizer", "ByteLevel", "Digits", "Metaspace", "Punctuation", "Split"),
    *("UnicodeScripts", "Whitespace", "WhitespaceSplit", "CharDelimiterSplit"),
    *("BertProcessing", "RobertaProcessing", "TemplateProcessing"),
    *("WordPiece", "BPEDecoder", "ByteFallback", "Fuse", "CTC"),
}
_PATTERNS = {
    " {2,}",  # T5, XLM-RoBERTa, CamemBERT
    " +",
    r"\s+",
    r"\d",
    r"\p{N}",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",  # GPT-2
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
"""The regular expressions of published tokenizers: each takes a time in proportion to the text."""
_MAX_PARTS = 1_000
_MAX_GROWTH = 4  # times that replacements may make a text longer
_MAX_REPLACED = 64  # bytes that a character may become in a table of sentencepiece; Arabic ligatures have 33
_MAX_WORD = 1_000  # characters of a word that are looked up: each piece of it may be tried
_MAX_ADDED = 1_000_000  # characters of all added tokens
_MAX_AFFIX = 64  # characters around a piece of a word


def require_tame(data: bytes, where: str) -> None:
    """Refuse a tokenizer.json that is too large, or has a part that could cost more than its text is worth.

    >>> require_tame(b'{"model": {"type": "BPE"}, "normalizer": {"type": "Replace", "pattern": {"Regex": "(a+)+$"}}}', "there")
    Traceback (most recent call last):
    onym.errors.InputError: [tokenizer-unsupported] a regular expression that no published tokenizer has...
    """
    values = sum(map(data.count, (b",", b":", b"[", b"{")))
    if len(data) > DEFAULT_LIMITS.tokenizer_bytes or values > DEFAULT_LIMITS.tokenizer_values:
        raise LimitError("limit-model", "the tokenizer is too large", where=where)
    try:
        found = json.loads(data, object_pairs_hook=_unique)
        model, parts = found["model"], {name: list(_iter_objects(found.get(name))) for name in _NAMES}
        problem = _of_model(model) or _text_of_token(found.get("added_tokens") or []) or _of_parts(parts)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise InputError("tokenizer-malformed", "the tokenizer cannot be read", where=where, fix="fetch it again") from e
    if problem:
        raise InputError("tokenizer-unsupported", problem, where=where, fix="use a model with a usual tokenizer")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; of a key that is there twice, two readers may take different values."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _iter_objects(part: Any) -> Iterator[dict[str, Any]]:
    values = [part]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            yield value
            values += value.values()
        elif isinstance(value, list):
            values += value


def _of_model(model: dict[str, Any]) -> str:
    if model.get("type", "BPE") not in _MODELS:
        return "a model of a kind that is not known"
    if model.get("dropout"):
        return "a model that answers at random"
    if model.get("max_input_chars_per_word", 100) > _MAX_WORD:
        return f"words of more than {_MAX_WORD:,} characters are looked up"
    affixes = (model.get(name) or "" for name in ("continuing_subword_prefix", "end_of_word_suffix", "unk_token"))
    return "a long affix" if any(len(each) > _MAX_AFFIX for each in affixes) else ""


def _text_of_token(added: list[dict[str, Any]]) -> str:
    return "too many added tokens" if sum(len(each["content"]) for each in added) > _MAX_ADDED else ""


def _of_parts(parts: dict[str, list[dict[str, Any]]]) -> str:
    objects = [each for name in _NAMES for each in parts[name]]
    kinds = [each["type"] for each in objects if "type" in each]
    if len(objects) > _MAX_PARTS:
        return f"more than {_MAX_PARTS:,} parts"
    if any(kind not in _PARTS for kind in kinds):
        return "a part of a kind that is not known"
    if any(each["Regex"] not in _PATTERNS for each in objects if "Regex" in each):
        return "a regular expression that no published tokenizer has"
    if math.prod(map(_growth, parts["normalizer"])) > _MAX_GROWTH or kinds.count("Precompiled") > 1:
        return "replacements that make a text many times as long"
    if any(_max_replacement_bytes(each) > _MAX_REPLACED for each in objects if each.get("type") == "Precompiled"):
        return "replacements of a character by a long text"
    return ""


def _growth(part: dict[str, Any]) -> float:
    """Return how many times as long a part may make a text."""
    if part.get("type") == "Prepend":
        return 1 if len(part["prepend"]) <= _MAX_AFFIX else math.inf
    if part.get("type") != "Replace":
        return 1
    pattern = part["pattern"].get("String", " ")  # each regular expression that is known takes a character at least
    return max(1, len(part["content"]) / len(pattern)) if pattern else math.inf


def _max_replacement_bytes(part: dict[str, Any]) -> int:
    """Return the most bytes that a character becomes: behind a tree, the table has texts that end with a zero."""
    table = base64.b64decode(part["precompiled_charsmap"] or "")
    start = 4 + int.from_bytes(table[:4], "little")
    return max(map(len, table[start:].split(b"\0")))
