"""Mutations of files. JSON and XML files stay well-formed, so that the code behind the parser is tested."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

_STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**30, 1e308, "", " ", "a", ":", "a:", ":b", "\x00", "\ud800", "\u2028", "\U0001f600", "İ",
    "http://purl.obolibrary.org/obo/HP_1", "HP:0000001", "x" * 3000, [], {}, [[]], [None], [1], [{}], {"a": {}}, ["a", ["b"]],
    {"val": 1}, {"val": None}, [{"val": "a"}], [{"pred": 1, "val": "a"}], {"id": 1}, [{"id": "a", "namespace": None}],
)  # fmt: skip
_KEYS = (
    "id",
    "lbl",
    "label",
    "name",
    "meta",
    "type",
    "val",
    "pred",
    "synonyms",
    "xrefs",
    "deprecated",
    "concept_id",
    "aliases",
    "",
)
_LEAF = re.compile(rb"<([A-Za-z]+)([^<>]*)>([^<>]*)</\1>")
_TEXTS = (
    b"", b" ", b"a", b"\n \n", b"&amp;", b"&#x1F600;", b"&#10;", b"<i>b</i>", b"<![CDATA[<x>]]>", b"<!-- c -->",
    b"<?p i?>", b"&x;",
    b"\xe2\x80\xa8", b"*D900001", b":", b"a" * 3000, b"<String>a</String>", b"<a><b><c/></b></a>",
)  # fmt: skip
_ATTRIBUTES = (b"", b' RecordPreferredTermYN="Y"', b' LexicalTag="&lt;"', b' xmlns="urn:x"', b' xml:lang="de"', b' a=""')
_NAMES = (b"Term", b"Concept", b"DescriptorRecord", b"SupplementalRecord", b"String", b"x", b"DescriptorUI", b"TreeNumber")


def can_reshape(data: bytes) -> bool:
    return data[:1] in (b"{", b"[", b"<")


def reshape(rng: random.Random, data: bytes) -> bytes:
    """Return mutated bytes that are still well-formed; return them unchanged if they cannot be parsed."""
    if data.startswith(b"<"):
        return _reshape_xml(rng, data)
    try:
        return _reshape_json(rng, json.loads(data))
    except ValueError:
        lines = data.splitlines()
    try:
        at = rng.randrange(len(lines))
        lines[at] = _reshape_json(rng, json.loads(lines[at]))
    except ValueError:
        return data
    return b"\n".join(lines)


def _reshape_json(rng: random.Random, value: Any) -> bytes:
    root = [value]
    nodes = _containers(root, [])
    node = rng.choice(nodes)
    key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
    act = rng.random()
    if act < 0.5:
        node[key] = rng.choice(_STRANGE)
    elif act < 0.6 and node is not root:
        del node[key]
    elif act < 0.75 and isinstance(node, dict):
        node[rng.choice(_KEYS)] = node[key]
    elif act < 0.85:
        node[key] = [node[key]] * rng.choice((1, 2, 9))
    elif act < 0.95:
        other = rng.choice(nodes)
        node[key] = json.loads(json.dumps(other if other is not root else None))
    else:
        for _ in range(rng.choice((3, 70, 150))):
            node[key] = [node[key]]
    return json.dumps(root[0], ensure_ascii=True).encode()


def _containers(value: Any, found: list[Any]) -> list[Any]:
    if isinstance(value, (dict, list)) and value:
        found.append(value)
        for member in value.values() if isinstance(value, dict) else value:
            _containers(member, found)
    return found


def _reshape_xml(rng: random.Random, data: bytes) -> bytes:
    leaves = list(_LEAF.finditer(data))
    if not leaves:
        return data
    leaf = rng.choice(leaves)
    name, attributes, text = leaf.groups()
    act = rng.random()
    if act < 0.5:
        text = rng.choice(_TEXTS)
    elif act < 0.65:
        attributes = rng.choice(_ATTRIBUTES)
    elif act < 0.8:
        name = rng.choice(_NAMES)
    new = b"<" + name + attributes + b">" + text + b"</" + name + b">"
    times = 1 if act < 0.8 else rng.choice((0, 2, 30))
    return data[: leaf.start()] + new * times + data[leaf.end() :]


# Mutations of bytes: each takes a random generator and the bytes, and returns other bytes.

Mutator = Callable[[random.Random, bytes, Sequence[bytes]], bytes]

_MAX_BYTES = 20_000  # maximum bytes of a mutated file, so that a case takes only microseconds
_NUMBERS = re.compile(rb"[0-9]+")
_TOKENS = (
    b'"', b'""', b"'", b"|", b"||", b"\t", b",", b";", b"=", b" = ", b":", b"::", b"+", b"#", b"!", b"\\", b"\\\\",
    b"\\n", b'\\"',
    b"\n", b"\r", b"\r\n", b"\n\n", b" ", b"\x00", b"\x0b", b"\x0c", b"\x1a", b"\x1c", b"\x7f", b"\xff",
    b"\xfe\xff", b"\xc3\x28",
    b"\xc3", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xef\xbb\xbf", b"\xef\xbf\xbf", b"\xf4\x90\x80\x80",
    b"\xf0\x9f\x98\x80",
    b"\xe2\x80\xa8", b"\xc2\x85", b"\xc2\xa0", b"\xe2\x80\xae", b"\xcc\x81", b"\xc4\xb0", b"\xef\xac\x81",
    b"\\u0000", b"\\ud800", b"\\udc00\\ud800", b"\\uFFFF", b"\\u12", b"\\x",
    b"[", b"]", b"{", b"}", b"[]", b"{}", b"[[", b"null", b"true", b"false", b"NaN", b"Infinity", b"-0", b"1e999",
    b"-1E-999", b"0x1",
    b'{"a": 1}', b'["a", null, 1]', b'"concept_id": 5', b'"xrefs": 7', b'"synonyms": {}', b'"meta": []',
    b'"deprecated": "true"',
    b"<", b">", b"</", b"/>", b"<!--", b"-->", b"]]>", b"<![CDATA[", b"<?x y?>", b"&", b"&lt;", b"&nbsp;", b"&#0;",
    b"&#xFFFF;",
    b"&#x110000;", b'<!ENTITY a "b">', b"<!DOCTYPE a [", b"xmlns:a='b'", b"<a:b/>", b' encoding="utf-16"',
    b"<String>", b"</String>",
    b"*NEWRECORD", b"*NEWRECORD\n", b"UI = ", b"ENTRY = ", b"MN = ", b"[Term]\n", b"[Typedef]\n", b"id: ",
    b"name: ", b'synonym: "',
    b'def: "', b"is_obsolete: true\n", b' {a="b"}', b" ! c", b"EXACT", b"xref: ", b"http://purl.obolibrary.org/obo/HP_",
    b"https://id.nlm.nih.gov/mesh/D1", b"CVCL_", b"MESH:", b"DOID:DOID:", b"C", b"D", b"-1", b"omim:", b"id", b"name",
    b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh9", b"\xfd7zXZ\x00",
)  # fmt: skip
_SIZES = (
    b"0",
    b"-1",
    b"00",
    b"2147483648",
    b"4294967296",
    b"9223372036854775808",
    b"1e400",
    b"9" * 400,
    b"9" * 5000,
    b"\xd9\xa3",
    b"",
)
_DELIMITERS = (b"\t", b"|", b",", b"\n", b"\r\n", b'"', b":", b" ", b"=", b"{", b"}", b"[", b"]", b"<", b">", b"/")


def mutate(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Apply one to six mutations, mostly one or two. Pieces of `others` are used for splicing."""
    if can_reshape(data) and rng.random() < 0.5:
        for _ in range(rng.choice((1, 1, 2, 3))):
            data = reshape(rng, data)
        if rng.random() < 0.8:
            return data
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4, 6))):
        data = rng.choice(_MUTATORS)(rng, data, others)[:_MAX_BYTES]
    return data


def _span(rng: random.Random, data: bytes, max_bytes: int = 64) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randrange(1, max_bytes))


def _flip_bit(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _insert_bytes(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[at:]


def _delete(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def _double(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _span(rng, data, 256)
    return data[:end] + data[start:end] * rng.choice((1, 1, 2, 50)) + data[end:]


def _swap(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    a, b, c = sorted(rng.randrange(len(data) + 1) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def _splice(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others)
    start, end = _span(rng, other, 400)
    at, until = _span(rng, data) if rng.random() < 0.5 else (rng.randrange(len(data) + 1),) * 2
    return data[:at] + other[start:end] + data[until:]


def _truncate(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.8 else data[at:]


def _insert_token(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    times = rng.choice((1, 1, 1, 1, 2, 3, 3000))
    return data[:at] + rng.choice(_TOKENS) * times + data[at:]


def _replace_number(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    spans = [found.span() for found in _NUMBERS.finditer(data)]
    if not spans:
        return data
    start, end = rng.choice(spans)
    return data[:start] + rng.choice(_SIZES) + data[end:]


def _replace_delimiter(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    old = rng.choice(_DELIMITERS)
    parts = data.split(old)
    if len(parts) < 2:
        return data
    at = rng.randrange(1, len(parts))
    new = rng.choice((b"", old + old, *_DELIMITERS, rng.choice(_TOKENS)))
    if rng.random() < 0.1:
        return new.join(parts)
    return old.join(parts[:at]) + new + old.join(parts[at:])


def _mix_lines(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    if rng.random() < 0.5:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    else:
        del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def _swap_fields(rng: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    delimiter = rng.choice((b"\t", b"|", b",", b'"', b"\n"))
    fields = data.split(delimiter)
    a, b = rng.randrange(len(fields)), rng.randrange(len(fields))
    fields[a], fields[b] = fields[b], fields[a]
    return delimiter.join(fields)


BINARY: tuple[Mutator, ...] = (_flip_bit, _flip_bit, _insert_bytes, _delete, _double, _swap, _splice, _truncate)
"""Those that make sense for any file."""

_MUTATORS: tuple[Mutator, ...] = (
    _flip_bit, _flip_bit, _insert_bytes, _delete, _double, _swap, _splice, _truncate,
    _insert_token, _insert_token, _insert_token, _replace_number,
    _replace_delimiter, _replace_delimiter, _mix_lines, _swap_fields,
)  # fmt: skip
