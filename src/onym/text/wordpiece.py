"""The tokenizer.json of a model that comes with the older `vocab.txt` alone, as BERT's and SapBERT's own do."""

from __future__ import annotations

import json
from typing import Any

from onym.errors import InputError

VOCABULARY = "vocab.txt"
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_CLS, _SEP = "[CLS]", "[SEP]"


def wordpiece_tokenizer(vocabulary: bytes, *, lowercase: bool = True, where: str = VOCABULARY) -> bytes:
    """Return the tokenizer.json of a vocab.txt: BERT's normalisation, its words, and the longest known pieces of each.

    >>> made = json.loads(wordpiece_tokenizer("\\n".join([*_SPECIAL, "fever", "##ish"]).encode()))
    >>> made["model"]["type"], made["model"]["vocab"]["##ish"]
    ('WordPiece', 6)
    """
    ids = {token: number for number, token in enumerate(_tokens(vocabulary, where))}
    if missing := [token for token in _SPECIAL if token not in ids]:
        what = f"the vocabulary has no {missing[0]}"
        raise InputError("tokenizer-malformed", what, where=where, fix="fetch the model again")
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
    parts = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(token, ids[token]) for token in _SPECIAL],
        "normalizer": {**normalizer, "strip_accents": None, "lowercase": lowercase},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _around(ids),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {**model, "vocab": ids},
    }
    return json.dumps(parts, ensure_ascii=False).encode()


def _tokens(vocabulary: bytes, where: str) -> list[str]:
    """Return the tokens, one per line; only line feeds end a line, for other separators are tokens themselves."""
    try:
        lines = vocabulary.decode().replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as e:
        raise InputError("tokenizer-malformed", "the vocabulary is not UTF-8", where=where, fix="fetch the model again") from e
    return lines[:-1] if lines[-1] == "" else lines


def _added(token: str, number: int) -> dict[str, Any]:
    off = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": token, "special": True, **off}


def _around(ids: dict[str, int]) -> dict[str, Any]:
    """Return what puts [CLS] before a text and [SEP] after it."""

    def special(token: str, text: int = 0) -> dict[str, Any]:
        return {"SpecialToken": {"id": token, "type_id": text}}

    first, second = ({"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB"))
    single = [special(_CLS), first, special(_SEP)]
    known = {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in (_CLS, _SEP)}
    pair = [*single, second, special(_SEP, 1)]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": known}
