"""JSON of every format: long texts and numbers, values by the million, escapes, gaps, and mentions that repeat a text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

from benchmarks.hostile.case import MB, Case, file

_LONG = "a" * (20 * MB)
_FITS = "fever " * (MB // 6)


def _line(**values: Any) -> bytes:
    return json.dumps({"id": "1", "text": "high fever", **values}).encode() + b"\n"


def _bioc(passages: list[dict[str, Any]], **values: Any) -> bytes:
    document = {"id": "1", "infons": {}, "passages": passages, **values}
    return json.dumps({"source": "", "infons": {}, "documents": [document]}).encode()


def _passage(offset: int, text: str, **values: Any) -> dict[str, Any]:
    return {"offset": offset, "infons": {}, "text": text, "annotations": [], **values}


def _bigbio(**values: Any) -> bytes:
    passage = {"id": "p", "type": "a", "text": ["high fever"], "offsets": [[0, 10]]}
    return json.dumps({"id": "1", "document_id": "1", "passages": [passage], "entities": [], **values}).encode() + b"\n"


def _pubannotation(**values: Any) -> bytes:
    return json.dumps([{"sourceid": "1", "text": _FITS, "denotations": [], **values}]).encode()


def _spans(count: int) -> list[dict[str, Any]]:
    """Return denotations that all cover a whole text of a million letters."""
    return [{"span": {"begin": 0, "end": len(_FITS)}, "obj": "a"}] * count


def _jsonl(name: str, content: Callable[[], bytes], act: Literal["corpus", "linked"] = "corpus") -> Case:
    return Case(f"jsonl: {name}", "", file("a.jsonl", content), act=act, format="jsonl")


def _case(form: str, name: str, content: Callable[[], bytes]) -> Case:
    return Case(f"{form}: {name}", "", file("a.json", content), act="corpus", format=form)


def _many(part: bytes, count: int) -> bytes:
    return part * (count - 1) + part.rstrip(b",")


def _pairs(count: int) -> bytes:
    return b",".join(b'"%x":1' % number for number in range(count))


CASES = (
    _jsonl("a text of 20 MB", lambda: _line(text=_LONG)),
    _jsonl("a text of 20 MB, linked", lambda: _line(text=_LONG), "linked"),
    _jsonl("a text of 7 MB", lambda: _line(text="a" * (7 * MB))),
    _jsonl("a text of a million escapes", lambda: b'{"id":"1","text":"' + b"\\u00e9" * MB + b'"}\n'),
    _jsonl("a million empty lists", lambda: b'{"id":"1","text":"a","x":[' + _many(b"[],", MB) + b"]}\n"),
    _jsonl("800,000 objects", lambda: b'{"id":"1","text":"a","x":[' + _many(b'{"a":1},', MB * 8 // 10) + b"]}\n"),
    _jsonl("500,000 keys", lambda: b'{"id":"1","text":"a","x":{' + _pairs(500_000) + b"}}\n"),
    _jsonl("nested 100,000 deep", lambda: b'{"id":"1","text":"a","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"),
    _jsonl("a number of 7 million digits", lambda: b'{"id":"1","text":"a","x":' + b"1" * (7 * MB) + b"}\n"),
    _jsonl("a fraction of a million digits", lambda: b'{"id":"1","text":"a","x":0.' + b"1" * MB + b"e9}\n"),
    _jsonl("mentions of a whole text", lambda: _line(text=_FITS, mentions=[{"start": 0, "end": len(_FITS)}] * 20_000)),
    _jsonl("parts of a whole text",
           lambda: _line(text=_FITS, mentions=[{"start": 0, "end": 99, "surface": "x", "parts": [[0, 99]] * 50_000}] * 2)),
    _jsonl("two million empty lines", lambda: b"\n" * (2 * MB) + _line()),
    _jsonl("50,000 lines that are no objects", lambda: b"1\n" * 50_000),
    _case("bioc_json", "a text of 20 MB", lambda: _bioc([_passage(0, _LONG)])),
    _case("bioc_json", "100 gaps of 8 MB", lambda: _bioc([_passage(n * 8 * MB, "a") for n in range(100)])),
    _case("bioc_json", "a gap of a thousand million", lambda: _bioc([_passage(10**9, "a")])),
    _case("bioc_json", "a million infons", lambda: _bioc([_passage(0, "a", infons={f"{n:x}": "" for n in range(MB)})])),
    _case("bioc_json", "200,000 passages", lambda: _bioc([_passage(n, "a") for n in range(200_000)])),
    _case("bioc_json", "an item that never ends", lambda: b'{"documents":[{"infons":{},"passages":[' + b"1," * (10 * MB)),
    _case("bigbio", "a text of 20 MB", lambda: _bigbio(passages=[{"text": [_LONG], "offsets": [[0, 9]]}])),
    _case("bigbio", "100 gaps of 8 MB",
          lambda: _bigbio(passages=[{"text": ["a"], "offsets": [[n * 8 * MB, 0]]} for n in range(100)])),
    _case("bigbio", "events by the million", lambda: _bigbio(events=[{}] * 400_000)),
    _case("pubannotation", "mentions of a whole text", lambda: _pubannotation(denotations=_spans(10_000))),
    _case("pubannotation", "a text of 20 MB", lambda: _pubannotation(text=_LONG)),
    _case("pubannotation", "attributes by the million", lambda: _pubannotation(attributes=[{"subj": "T1"}] * 500_000)),
)  # fmt: skip
