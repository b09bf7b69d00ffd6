"""JSON that nests without end, holds one huge value, is cut off, of the wrong shape, or says what is no text."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.hostile.case import MB, Case, file

_LIST = b'[{"id": "MONDO:1", "name": "Fever", "synonyms": []}, '
_OBJECT = b'{"MONDO:1": {"label": "Fever", "synonyms": []}, "MONDO:2": '
_ENTITY = b'{"concept_id": "C1", "canonical_name": "Fever", "aliases": []}\n'
_GRAPH = b'{"graphs": [{"nodes": [{"id": "HP:1", "lbl": "Fever"}, '


def _case(label: str, code: str, content: Callable[[], bytes], name: str = "ontology.json") -> Case:
    return Case(label, code, file(name, content))


def _lines(label: str, code: str, content: Callable[[], bytes]) -> Case:
    return _case(f"JSONL {label}", code, content, "entities.jsonl")


CASES = (
    _case("JSON of a million brackets", "limit-depth", lambda: _LIST + b"[" * MB),
    _case("JSON of a million objects", "limit-depth", lambda: _LIST + b'{"a":' * MB),
    _case("JSON of brackets behind closed ones in a text", "limit-depth",
          lambda: _LIST + b'{"id": "' + b"]" * MB + b'", "a": ' + b"[" * MB),
    _case("JSON of brackets behind an escaped quote", "limit-depth",
          lambda: _LIST + rb'{"id": "\\\"' + b"]" * MB + b'", "a": ' + b"[" * MB),
    _case("JSON with a text of 20 MB", "limit-json", lambda: _LIST + b'{"id": "' + b"a" * 20 * MB + b'"}]'),
    _case("JSON with a key of 20 MB", "limit-json", lambda: _OBJECT + b'{"' + b"a" * 20 * MB + b'": 1}}'),
    _case("JSON with a number of 20 MB", "limit-json", lambda: _LIST + b'{"id": ' + b"1" * 20 * MB + b"}]"),
    _case("JSON with an item of 4 million lists", "limit-json", lambda: _LIST + b'{"id": [' + b"[]," * 4 * MB + b"[]]}]"),
    _case("JSON with an item of a million objects", "limit-json", lambda: _LIST + b'{"a": [' + b'{"b":1},' * MB + b"1]}]"),
    _case("JSON with spaces without end", "limit-json", lambda: _LIST + b" " * 20 * MB),
    _case("JSON with a huge node", "limit-json", lambda: _GRAPH + b'{"id": "' + b"a" * 20 * MB + b'"}]}]}'),
    _case("JSON cut off", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "na'),
    _case("JSON with two values", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "name": "b"}] []'),
    _case("JSON with NaN", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "name": NaN}]'),
    _case("JSON with Infinity", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "name": -Infinity}]'),
    _case("JSON with bytes that are not UTF-8", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "name": "\xff"}]'),
    _case("JSON with encoded surrogates", "json-malformed", lambda: _LIST + b'{"id": "MONDO:2", "name": "\xed\xa0\x80"}]'),
    _case("JSON with a high surrogate alone", "input-encoding", lambda: _LIST + rb'{"id": "MONDO:2", "name": "a\ud800b"}]'),
    _case("JSON with a low surrogate alone", "input-encoding", lambda: _LIST + rb'{"id": "MONDO:2", "name": "a\uDC00b"}]'),
    _case("JSON with a surrogate in a key", "input-encoding", lambda: _OBJECT + rb'{"a\ud83d": 1}}'),
    _case("JSON with a surrogate across two reads", "input-encoding",
          lambda: _LIST.ljust(65_536 - 25) + rb'{"id": "MONDO:2", "name":"\ud800"}]'),
    _case("JSON with a number for a name", "json-shape", lambda: _LIST + b'{"id": "MONDO:2", "name": 7}]'),
    _case("JSON with an object for a name", "json-shape", lambda: _LIST + b'{"id": "MONDO:2", "name": {}}]'),
    _case("JSON with a text for a list", "json-shape", lambda: _LIST + b'{"id": "MONDO:2", "synonyms": "abc"}]'),
    _case("JSON with a number among objects", "json-shape", lambda: _LIST + b"7]"),
    _case("JSON in UTF-16", "format-unknown", lambda: (_LIST + b"1]").decode().encode("utf-16")),
    _lines("cut off", "json-malformed", lambda: _ENTITY + _ENTITY[:30]),
    _lines("with a line of 50 MB", "limit-line", lambda: _ENTITY + b'{"concept_id": "' + b"a" * 50 * MB),
    _lines("of brackets", "limit-depth", lambda: _ENTITY + b"[" * 1_000_000 + b"\n"),
    _lines("with brackets in an entity", "limit-depth",
           lambda: _ENTITY + _ENTITY.replace(b"[]", b"[" * 20_000 + b"]" * 20_000)),
    _lines("with bytes that are not UTF-8", "input-encoding", lambda: _ENTITY + _ENTITY.replace(b"Fever", b"\xff")),
    _lines("with a NUL", "input-encoding", lambda: _ENTITY + _ENTITY.replace(b"Fever", b"\x00")),
    _lines("with a surrogate alone", "input-encoding", lambda: _ENTITY + _ENTITY.replace(b"Fever", rb"\ud800")),
    _lines("with a surrogate in an id", "input-encoding", lambda: _ENTITY + _ENTITY.replace(b"C1", rb"C\udfff")),
    _lines("with NaN", "json-malformed", lambda: _ENTITY + _ENTITY.replace(b"[]", b"NaN")),
    _lines("with a number of a million digits", "json-malformed", lambda: _ENTITY + _ENTITY.replace(b"[]", b"1" * MB)),
    _lines("with a number for a name", "json-shape", lambda: _ENTITY + _ENTITY.replace(b'"Fever"', b"7")),
    _lines("with a list for an entity", "json-shape", lambda: _ENTITY + b"[1, 2]\n"),
    _lines("with an entity without an id", "json-shape", lambda: _ENTITY + b'{"canonical_name": "Fever"}\n'),
)  # fmt: skip
