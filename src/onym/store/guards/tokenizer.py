"""Checks an untrusted tokenizer.json before the tokenizers library loads it: time and memory must stay linear in the text.

Some regular expressions take exponential time, so only those of published tokenizers are allowed. Replacements can make a text
many times longer, so their growth is limited.
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
    " {2,}",  # in the tokenizers of T5, XLM-RoBERTa and CamemBERT
    " +",
    r"\s+",
    r"\d",
    r"\p{N}",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",  # GPT-2
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
"""The regular expressions of published tokenizers, all of which take linear time."""
_MAX_PARTS = 1_000  # maximum JSON objects in the normalizer, pre-tokenizer, post-processor and decoder together
_MAX_GROWTH = 4  # maximum factor by which replacements may lengthen a text
_MAX_REPLACED = 64  # maximum bytes that replace one character in a sentencepiece table; Arabic ligatures need 33
_MAX_WORD = 1_000  # maximum characters of a word, because every substring of it may be looked up
_MAX_ADDED = 1_000_000  # maximum characters of all added tokens together
_MAX_AFFIX = 64  # maximum characters of a word piece's prefix or suffix


def require_tame(data: bytes, where: str) -> None:
    """Reject a tokenizer.json that is too large, or whose components could take excessive time or memory.

    >>> require_tame(b'{"model": {"type": "BPE"}, "normalizer": {"type": "Replace", "pattern": {"Regex": "(a+)+$"}}}', "there")
    Traceback (most recent call last):
    onym.errors.InputError: [tokenizer-unsupported] the tokenizer has a regular expression of no published tokenizer...
    """
    values = sum(map(data.count, (b",", b":", b"[", b"{")))
    if len(data) > DEFAULT_LIMITS.tokenizer_bytes or values > DEFAULT_LIMITS.tokenizer_values:
        raise LimitError("limit-model", "the tokenizer is too large", where=where)
    try:
        found = json.loads(data, object_pairs_hook=_unique)
        model, parts = found["model"], {name: list(_iter_objects(found.get(name))) for name in _NAMES}
        problem = _of_model(model) or _text_of_token(found.get("added_tokens") or []) or _of_parts(parts)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise InputError("tokenizer-malformed", "the tokenizer cannot be read", where=where, fix="re-download the model") from e
    if problem:
        raise InputError("tokenizer-unsupported", problem, where=where, fix="use a model with a standard tokenizer")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dict; raise for duplicate keys, because JSON parsers differ in which value they keep."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
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
        return "the type of the tokenizer model is unknown"
    if model.get("dropout"):
        return "the tokenizer model uses dropout, so its output is random"
    if model.get("max_input_chars_per_word", 100) > _MAX_WORD:
        return f"max_input_chars_per_word is larger than {_MAX_WORD:,}"
    affixes = (model.get(name) or "" for name in ("continuing_subword_prefix", "end_of_word_suffix", "unk_token"))
    return "a prefix, suffix or unknown token is too long" if any(len(each) > _MAX_AFFIX for each in affixes) else ""


def _text_of_token(added: list[dict[str, Any]]) -> str:
    return "the added tokens are too long in total" if sum(len(each["content"]) for each in added) > _MAX_ADDED else ""


def _of_parts(parts: dict[str, list[dict[str, Any]]]) -> str:
    objects = [each for name in _NAMES for each in parts[name]]
    kinds = [each["type"] for each in objects if "type" in each]
    if len(objects) > _MAX_PARTS:
        return f"the tokenizer has more than {_MAX_PARTS:,} components"
    if any(kind not in _PARTS for kind in kinds):
        return "the type of a tokenizer component is unknown"
    if any(each["Regex"] not in _PATTERNS for each in objects if "Regex" in each):
        return "the tokenizer has a regular expression of no published tokenizer"
    if math.prod(map(_growth, parts["normalizer"])) > _MAX_GROWTH or kinds.count("Precompiled") > 1:
        return "replacements can make a text many times longer"
    if any(_max_replacement_bytes(each) > _MAX_REPLACED for each in objects if each.get("type") == "Precompiled"):
        return "a character is replaced by a long string"
    return ""


def _growth(part: dict[str, Any]) -> float:
    """Return the maximum factor by which a normalizer component lengthens a text."""
    if part.get("type") == "Prepend":
        return 1 if len(part["prepend"]) <= _MAX_AFFIX else math.inf
    if part.get("type") != "Replace":
        return 1
    pattern = part["pattern"].get("String", " ")  # every allowed regular expression matches at least one character
    return max(1, len(part["content"]) / len(pattern)) if pattern else math.inf


def _max_replacement_bytes(part: dict[str, Any]) -> int:
    """Return the maximum bytes that replace one character. In the table, a trie precedes the NUL-terminated replacements."""
    table = base64.b64decode(part["precompiled_charsmap"] or "")
    start = 4 + int.from_bytes(table[:4], "little")
    return max(map(len, table[start:].split(b"\0")))
