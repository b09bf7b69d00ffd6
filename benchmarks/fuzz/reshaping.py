"""Ways to change what a JSON or XML file says while it stays well-formed, so that the reader behind the parser is reached."""

from __future__ import annotations

import json
import random
import re
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


def reshaped(rng: random.Random, data: bytes) -> bytes:
    """Return other bytes of the same syntax; the same ones where they are not of this syntax."""
    if data.startswith(b"<"):
        return _reshaped_xml(rng, data)
    try:
        return _reshaped_json(rng, json.loads(data))
    except ValueError:
        lines = data.splitlines()
    try:
        at = rng.randrange(len(lines))
        lines[at] = _reshaped_json(rng, json.loads(lines[at]))
    except ValueError:
        return data
    return b"\n".join(lines)


def _reshaped_json(rng: random.Random, value: Any) -> bytes:
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


def _reshaped_xml(rng: random.Random, data: bytes) -> bytes:
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
