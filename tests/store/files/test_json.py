"""Tests that JSON is read item by item, and that limits are checked before parsing."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onym.errors import InputError, LimitError, OnymError
from onym.store.files import json as json_files
from onym.store.files.json import first_byte, iter_items, iter_pairs, keys_in, parse_line
from onym.store.files.source import InputFile
from onym.store.limits import Limits
from tests.store.answers import answer


def file(data: bytes | str, **limits: int) -> InputFile:
    return InputFile.from_bytes("a.json", data.encode() if isinstance(data, str) else data, Limits(**limits))


def items(data: bytes | str, prefix: str = "item", /, **limits: int) -> list[Any]:
    return list(iter_items(file(data, **limits), prefix))


TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=12) | st.sampled_from(
    ['"', "\\", '\\"', "]]]", "{,[", "\U0001f600"]
)
LEAF = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUE = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20)
READS = st.sampled_from([1, 2, 3, 7, 64, 65536])


@settings(max_examples=50)
@given(st.lists(VALUE, max_size=5), READS, st.booleans())
def test_items_equal_those_of_json_loads(values: list[Any], size: int, ascii_only: bool) -> None:
    with patch.object(json_files, "_READ", size):
        assert items(json.dumps(values, ensure_ascii=ascii_only)) == values


@settings(max_examples=50)
@given(st.dictionaries(TEXT, VALUE, max_size=5), READS)
def test_pairs_equal_those_of_json_loads(values: dict[str, Any], size: int) -> None:
    with patch.object(json_files, "_READ", size):
        assert dict(iter_pairs(file(json.dumps(values)))) == values


def test_prefix_selects_nested_items() -> None:
    data = json.dumps({"graphs": [{"nodes": [1, {"a": 2}], "edges": [3]}, {"nodes": [4]}], "x": {"y": {"k": 5}}})
    assert items(data, "graphs.item.nodes.item") == [1, {"a": 2}, 4]
    assert list(iter_pairs(file(data), "x.y")) == [("k", 5)]


def test_a_byte_order_mark_is_skipped() -> None:
    assert items(b"\xef\xbb\xbf[1]") == [1]


@pytest.mark.parametrize(("data", "first"), [(b" \n[1]", "["), (b"\xef\xbb\xbf {", "{"), (b"", ""), (b"\xff", "\xff")])
def test_first_byte_skips_white_space_and_bom(data: bytes, first: str) -> None:
    assert first_byte(file(data)) == first


@pytest.mark.parametrize("size", [1, 5, 64, 65536])
@pytest.mark.parametrize(
    "data",
    [
        "[" * 200,
        '[{"a": ' * 200,
        '["' + "]" * 500 + '", ' + "[" * 200,
        '["\\"' + "]" * 500 + '", ' + "[" * 200,
        '["\\\\", "' + "]" * 500 + '", ' + "[" * 200,
    ],
)
def test_deep_nesting_is_rejected(data: str, size: int) -> None:
    with patch.object(json_files, "_READ", size), pytest.raises(LimitError, match="limit-depth"):
        items(data)


@given(st.integers(1, 40), READS, TEXT)
def test_depth_limit_is_exact(depth: int, size: int, text: str) -> None:
    quoted = json.dumps(text)
    data = f"[{quoted},{'[' * (depth - 1)}{quoted}{']' * (depth - 1)}]"
    with patch.object(json_files, "_READ", size):
        assert items(data, json_depth=depth)[0] == text
        with pytest.raises(LimitError, match="limit-depth"):
            items(data, json_depth=depth - 1)


@pytest.mark.parametrize(
    ("data", "limits"),
    [
        ('["' + "x" * 5_000 + '"]', {"json_token_bytes": 1_000}),
        ('["a", ' + "1" * 5_000 + "]", {"json_token_bytes": 1_000}),
        ('["a", ' + " " * 5_000 + "1]", {"json_token_bytes": 1_000}),
        ('[{"a": "' + 'x", "b": "' * 1_000 + '"}]', {"json_item_bytes": 2_000}),
        ("[[" + "1," * 1_000 + "1]]", {"json_item_values": 300}),
        ("[[" + "[]," * 1_000 + "1]]", {"json_item_values": 300}),
    ],
)
def test_a_large_item_is_rejected(data: str, limits: dict[str, int]) -> None:
    with patch.object(json_files, "_READ", 64), pytest.raises(LimitError, match="limit-json"):
        items(data, **limits)


def test_accepts_many_small_items_and_large_siblings() -> None:
    limits = {"json_item_bytes": 500, "json_item_values": 50, "json_token_bytes": 100}
    many = [{"id": n, "names": ["a", "b"]} for n in range(2_000)]
    with patch.object(json_files, "_READ", 64):
        assert items(json.dumps(many), **limits) == many
        graph = {"graphs": [{"nodes": [1], "edges": [{"sub": n} for n in range(2_000)]}]}
        assert items(json.dumps(graph), "graphs.item.nodes.item", **limits) == [1]


HALVES = [r"\ud800", r"\uDFFF", r"\ud83d\ud83d", r"\udc00\ud800", r"\ud800\\\udc00", r"\ud83d\n\ude00", r"\ud83d x"]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 11, 65536])
@pytest.mark.parametrize("half", HALVES)
def test_rejects_lone_surrogates(half: str, size: int) -> None:
    for data in (f'["a{half}b"]', f'[{{"{half}": 1}}]'):
        with patch.object(json_files, "_READ", size), pytest.raises(OnymError) as caught:
            items(data)
        assert caught.value.code == "input-encoding"
    with pytest.raises(InputError, match="input-encoding"):
        parse_line(f'["a{half}b"]'.encode(), "a:1")


@given(st.lists(st.sampled_from([r"\ud83d", r"\uDE00", r"\\", r"\"", r"\u0041", "u", "d8", " ", "["]), max_size=12), READS)
def test_rejects_a_string_exactly_if_it_has_a_lone_surrogate(parts: list[str], size: int) -> None:
    data = f'["{"".join(parts)}"]'
    expected = json.loads(data)
    with patch.object(json_files, "_READ", size):
        if any("\ud800" <= char <= "\udfff" for char in expected[0]):
            with pytest.raises(InputError, match="input-encoding"):
                items(data)
        else:
            assert items(data) == expected


@pytest.mark.parametrize("size", [1, 2, 3, 5, 11, 65536])
def test_accepts_surrogate_pairs_and_escaped_backslashes(size: int) -> None:
    data = r'["\ud83d\ude00", "\\ud800", "\\\\udc00", "\\\ud83d\ude00", "\u00e9"]'
    with patch.object(json_files, "_READ", size):
        assert items(data) == ["\U0001f600", "\\ud800", "\\\\udc00", "\\\U0001f600", "\u00e9"]
    assert parse_line(data.encode(), "a:1")[1] == "\\ud800"


@pytest.mark.parametrize(
    "data", ["", "[1", "[1,]", "[NaN]", '["\\q"]', "[1] [2]", "nonsense", "[01]", b'["\xff"]', b'["\xed\xa0\x80"]']
)
def test_rejects_invalid_json(data: str | bytes) -> None:
    with pytest.raises(InputError, match="json-malformed"):
        items(data)


@pytest.mark.parametrize("line", [b"{", b"NaN", b"[Infinity]", b"1 2", b'"\xff"', b"9" * 5_000, b""])
def test_rejects_an_invalid_line(line: bytes) -> None:
    with pytest.raises(InputError, match="json-malformed") as caught:
        parse_line(line, "a.jsonl:7")
    assert caught.value.where == "a.jsonl:7"


def test_rejects_a_deeply_nested_line() -> None:
    with pytest.raises(LimitError, match="limit-depth"):
        parse_line(b"[" * 5_000 + b"]" * 5_000, "a:1")
    assert parse_line(b"[" + b"[]," * 100 + b"1]", "a:1")[-1] == 1


@given(VALUE)
def test_line_is_parsed_like_json_loads(value: Any) -> None:
    assert parse_line(json.dumps(value).encode(), "a:1") == value


@given(st.binary(max_size=80))
def test_any_input_gives_items_or_an_error_without_its_text(data: bytes) -> None:
    for text in (b'["secret' + data, b'{"secret": ' + data, data):
        said = answer(lambda text=text: items(text))  # type: ignore[misc]
        said += answer(lambda text=text: list(iter_pairs(file(text))))  # type: ignore[misc]
        said += answer(lambda text=text: parse_line(text, "a:1"))  # type: ignore[misc]
        assert "secret" not in said


@pytest.mark.parametrize("number", ["9" * 5_000, "-" + "9" * 100_000, "9" * 5_000 + ".5"])
def test_keys_before_a_number_of_many_digits_are_read(number: str) -> None:
    assert keys_in(f'{{"id": 1, "n": {number}, "text": ""}}'.encode(), 9)[0][:2] == ["id", "n"]
