"""Tokenizers, from tokenizer.json or vocab.txt. The library `tokenizers` is part of `onym[models]` and `onym[onnx]`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.errors import ConfigError, InputError, OnymError, missing_extra
from onym.store.arrays import Ragged
from onym.store.cache import file_digest
from onym.store.files.stream import read_regular
from onym.store.guards.tokenizer import require_tame
from onym.store.limits import DEFAULT_LIMITS, panics_as_errors
from onym.store.models import find_model_file

FILE = "tokenizer.json"
_MAX_AROUND = 16  # maximum number of special tokens that a tokenizer may add to a text
_PROBE = "Any text, 1 é."  # tokenised when a tokenizer is opened, to detect a broken one
_EOS = ("</s>", "[SEP]", "<|endoftext|>")


@dataclass(frozen=True, slots=True)
class Placed:
    """Tokens of a text with their character offsets; a token without text has an empty span."""

    ids: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the (start, end) token range that overlaps a character span; None if no token does.

        >>> tokens = Placed(np.array([5, 6, 7]), np.array([0, 5, 9]), np.array([4, 9, 14]))
        >>> tokens.span(6, 12), tokens.span(4, 5)
        ((1, 3), None)
        """
        inside = np.flatnonzero((self.starts < end) & (self.ends > start) & (self.ends > self.starts))
        return (int(inside[0]), int(inside[-1]) + 1) if len(inside) else None


class Tokenizer:
    """A tokenizer loaded from tokenizer.json. Texts are encoded without special tokens; callers add them.

    `before` and `after` are the special tokens that belong around a text, such as BART's `<s>` and `</s>`. Pass `digest`, the
    SHA-256 of `data`, if it is already known.
    """

    def __init__(self, data: bytes, where: str = FILE, *, digest: str | None = None) -> None:
        require_tame(data, where)
        with _readable(where):
            self._fast = _parse_tokenizer(data)
            self._fast.no_padding()
            self._fast.no_truncation()
            self._fast.encode_special_tokens = True  # treat `</s>` in a text as ordinary characters
            self.vocabulary: int = max(self._fast.get_vocab(with_added_tokens=True).values()) + 1
            around: list[int] = self._fast.encode("").ids
            known = self._fast.encode(_PROBE, add_special_tokens=False).ids  # raise now, not on the first document
        self.data = data
        self.digest = (digest or hashlib.sha256(data).hexdigest())[:16]
        self.eos = self._special(where)
        if not known or len(around) > _MAX_AROUND or not all(token < self.vocabulary for token in around):
            what = "the tokenizer gives no tokens for a text, or adds too many or unknown special tokens"
            raise InputError("tokenizer-malformed", what, where=where, fix="download the model again")
        end = around.index(self.eos) if self.eos in around else len(around)
        self.before, self.after = tuple(around[:end]), tuple(around[end:])

    @classmethod
    def open(cls, folder: Path | str) -> Tokenizer:
        """Open the tokenizer in a model's folder."""
        path = find_model_file(Path(folder), FILE)
        if path is None:
            fix = "save the fast tokenizer of the model's family there as tokenizer.json"
            raise ConfigError("tokenizer-missing", "the folder has no tokenizer.json", where=str(folder), fix=fix)
        return cls(read_regular(path, DEFAULT_LIMITS.tokenizer_bytes + 1), str(path), digest=file_digest(path))

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, without special tokens."""
        with _encodable([text]):
            found: list[int] = self._fast.encode(text, add_special_tokens=False).ids
        return found

    def ids_of(self, texts: Sequence[str]) -> Ragged:
        """Return the token ids of many texts, without special tokens."""
        with _encodable(texts):
            found = [each.ids for each in self._fast.encode_batch_fast(list(texts), add_special_tokens=False)]
        offsets = np.zeros(len(found) + 1, dtype=np.int64)
        np.cumsum([len(each) for each in found], out=offsets[1:])
        flat = np.fromiter((token for each in found for token in each), dtype=np.int32, count=int(offsets[-1]))
        return Ragged(offsets, flat)

    def tokenize_with_offsets(self, text: str) -> Placed:
        """Return the tokens of a text with offsets that exclude surrounding white space; no special tokens."""
        with _encodable([text]):
            found = self._fast.encode(text, add_special_tokens=False)
        offsets = np.array([_trim_span(text, *span) for span in found.offsets], dtype=np.int64).reshape(-1, 2)
        return Placed(np.array(found.ids, dtype=np.int64), offsets[:, 0], offsets[:, 1])

    def text(self, ids: Sequence[int]) -> str:
        """Decode token ids into text, for display."""
        with _encodable([]):
            return str(self._fast.decode(list(ids), skip_special_tokens=True))

    def _special(self, where: str) -> int:
        for name in _EOS:
            if (found := self._fast.token_to_id(name)) is not None:
                return int(found)
        fix = f"use a model whose tokenizer has one of {', '.join(_EOS)}"
        raise InputError("tokenizer-malformed", "the tokenizer has no end-of-sequence token", where=where, fix=fix)


def _trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Exclude leading and trailing white space from a span, because some tokenizers include the space before a word."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


@contextmanager
def _readable(where: str) -> Iterator[None]:
    """Raise InputError for any exception of `tokenizers` while a file is read."""
    try:
        with panics_as_errors():
            yield
    except OnymError:
        raise
    except Exception as e:  # `tokenizers` raises the base class Exception for most errors
        what = "the tokenizer cannot be read"
        raise InputError("tokenizer-malformed", what, where=where, fix="download the model again") from e


@contextmanager
def _encodable(texts: Sequence[str]) -> Iterator[None]:
    """Raise InputError for any exception of `tokenizers` while texts are encoded; the message does not quote them."""
    try:
        with panics_as_errors():
            yield
    except Exception:
        if any("\ud800" <= char <= "\udfff" for text in texts for char in text):
            raise InputError("input-encoding", "the text has an unpaired surrogate", fix="decode it differently") from None
        raise InputError("tokenizer-failed", "the tokenizer cannot read a text", fix="use another model") from None


def _parse_tokenizer(data: bytes) -> Any:
    try:
        from tokenizers import Tokenizer as Fast
    except ImportError as e:
        raise missing_extra("a tokenizer", "models") from e
    return Fast.from_buffer(data)


VOCABULARY = "vocab.txt"
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_CLS, _SEP = "[CLS]", "[SEP]"


def wordpiece_tokenizer(vocabulary: bytes, *, lowercase: bool = True, where: str = VOCABULARY) -> bytes:
    """Convert a vocab.txt into a tokenizer.json: BERT's normalisation, word splitting and WordPiece.

    >>> made = json.loads(wordpiece_tokenizer("\\n".join([*_SPECIAL, "fever", "##ish"]).encode()))
    >>> made["model"]["type"], made["model"]["vocab"]["##ish"]
    ('WordPiece', 6)
    """
    ids = {token: number for number, token in enumerate(_tokens(vocabulary, where))}
    if missing := [token for token in _SPECIAL if token not in ids]:
        what = f"the vocabulary has no {missing[0]}"
        raise InputError("tokenizer-malformed", what, where=where, fix="download the model again")
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True}
    parts = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_describe_token(token, ids[token]) for token in _SPECIAL],
        "normalizer": {**normalizer, "strip_accents": None, "lowercase": lowercase},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _around(ids),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {**model, "vocab": ids},
    }
    return json.dumps(parts, ensure_ascii=False).encode()


def _tokens(vocabulary: bytes, where: str) -> list[str]:
    """Return the tokens, one per line; only line feeds end a line, because other line separators can be tokens."""
    try:
        lines = vocabulary.decode().replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as e:
        raise InputError(
            "tokenizer-malformed", "the vocabulary is not UTF-8", where=where, fix="download the model again"
        ) from e
    return lines[:-1] if lines[-1] == "" else lines


def _describe_token(token: str, number: int) -> dict[str, Any]:
    off = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": token, "special": True, **off}


def _around(ids: dict[str, int]) -> dict[str, Any]:
    """Return the post-processor that adds [CLS] before a text and [SEP] after it."""

    def special(token: str, text: int = 0) -> dict[str, Any]:
        return {"SpecialToken": {"id": token, "type_id": text}}

    first, second = ({"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB"))
    single = [special(_CLS), first, special(_SEP)]
    known = {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in (_CLS, _SEP)}
    pair = [*single, second, special(_SEP, 1)]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": known}
