"""spaCy's DocBin: packed bytes without end, words and strings that many tokens share, documents and values by the million."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import srsly
from spacy.attrs import IDS
from spacy.strings import get_string_id

from benchmarks.hostile.case import MB, Case, file

_WORD = "fever"


def _case(name: str, content: Callable[[], bytes]) -> Case:
    return Case(f"docbin: {name}", "", file("a.spacy", content), act="corpus", format="docbin")


def _made(sizes: list[int], word: str = _WORD, attrs: int = 1, **more: Any) -> bytes:
    """Return a file of documents of one word over and over."""
    count = sum(sizes)
    tokens = np.zeros((count, attrs), "uint64")
    tokens[:, 0] = get_string_id(word)
    message = {
        "version": "0.1", "attrs": [IDS["ORTH"], IDS["ENT_IOB"], IDS["ENT_TYPE"], IDS["ENT_KB_ID"], IDS["ENT_ID"]][:attrs],
        "tokens": tokens.tobytes(), "spaces": b"\x01" * count, "lengths": np.array(sizes, "int32").tobytes(),
        "strings": [word], "cats": [{}] * len(sizes), "flags": [{}] * len(sizes),
    }  # fmt: skip
    return _packed(message | more)


def _packed(message: Any) -> bytes:
    return zlib.compress(srsly.msgpack_dumps(message), 1)


def _entities(count: int) -> bytes:
    tokens = np.zeros((count, 5), "uint64")
    tokens[:] = [get_string_id(_WORD), 3, get_string_id(_WORD), get_string_id(_WORD), 0]
    return _made([count], attrs=5, tokens=tokens.tobytes())


def _mixed(count: int) -> bytes:
    """Return a document of random words, which packs badly."""
    rng = np.random.default_rng(13)
    words = [f"w{number}" for number in range(200)]
    tokens = rng.choice(np.array([get_string_id(word) for word in words], "uint64"), count)
    spaces = rng.integers(0, 2, count).astype(bool)
    return _made([count // 4] * 4, tokens=tokens.tobytes(), spaces=spaces.tobytes(), strings=words)


CASES = (
    _case("zeros without end", lambda: zlib.compress(bytes(600 * MB), 9)),
    _case("150 MB of random strings", lambda: _packed(["x" * 1000] * 150_000)),
    _case("a million strings", lambda: _made([1], strings=[f"{n}" for n in range(MB)])),
    _case("400,000 strings", lambda: _made([1], strings=[_WORD, *(f"{n}" for n in range(400_000))])),
    _case("a long word, a thousand times", partial(_made, [1000], "x" * 100_000)),
    _case("a long word in 10,000 documents", partial(_made, [10] * 10_000, "x" * 100_000)),
    _case("three million words", partial(_made, [1_000_000] * 3)),
    _case("three million random words", partial(_mixed, 3_000_000)),
    _case("50,000 empty documents", partial(_made, [0] * 50_000)),
    _case("a million documents by their lengths", lambda: _made([1], lengths=bytes(4 * MB))),
    _case("a million entities", partial(_entities, MB)),
    _case("values inside of values", lambda: zlib.compress(b"\x91" * MB)),
    _case("a list that says that it is long", lambda: zlib.compress(b"\xdd\xff\xff\xff\xff" * 64)),
    _case("a record of a million values", lambda: _made([1], user_data=[srsly.msgpack_dumps([None] * MB)])),
)
