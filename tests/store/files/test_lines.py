"""Tests of reading files in blocks of whole lines, and line by line."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import InputError, LimitError
from onym.store.files import lines
from onym.store.files.lines import Block, iter_blocks, iter_lines
from onym.store.files.source import InputFile
from onym.store.limits import Limits


def blocks(data: bytes, **limits: int) -> list[Block]:
    return list(iter_blocks(InputFile.from_bytes("a.txt", data, Limits(**limits))))


TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00\ufeff"), max_size=40)


@given(st.lists(TEXT), st.integers(1, 64), st.booleans())
def test_blocks_contain_all_lines_unbroken(texts: list[str], size: int, ends: bool) -> None:
    data = "\n".join(texts).encode() + (b"\n" if ends else b"")
    found = blocks(data, block_bytes=size)
    joined = b"".join(block.data for block in found)
    assert joined == (data if not data or data.endswith(b"\n") else data + b"\n")
    assert all(block.data.endswith(b"\n") for block in found)
    line = 1
    for block in found:
        assert (block.first_line, block.where) == (line, f"a.txt:{line}")
        line += block.data.count(b"\n")


def test_an_empty_file_has_no_block() -> None:
    assert blocks(b"") == []


def test_a_byte_order_mark_is_dropped_at_the_beginning_only() -> None:
    assert [block.data for block in blocks(b"\xef\xbb\xbfa\nb")] == [b"a\nb\n"]
    assert [block.data for block in blocks(b"a\n\xef\xbb\xbfb")] == [b"a\n\xef\xbb\xbfb\n"]


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"a\nb\xff\n", 2), (b"a\n\nc\x00\n", 3), (b"\xed\xa0\x80", 1), (b"a\n" * 500 + b"\xc3", 501)],
)
def test_error_for_invalid_text_has_the_line_number(data: bytes, line: int) -> None:
    with pytest.raises(InputError, match="input-encoding") as caught:
        blocks(data, block_bytes=100)
    assert caught.value.where.split(" ")[0] == f"a.txt:{line}"


def test_character_split_between_two_reads_is_decoded() -> None:
    text = "\u03b2" * 100 + "\n"
    assert b"".join(block.data for block in blocks(text.encode(), block_bytes=3)) == text.encode()


def test_rejects_a_line_longer_than_the_limit() -> None:
    with patch.object(lines, "_BLOCK", 1_000), pytest.raises(LimitError, match="limit-line") as caught:
        blocks(b"short\n" + b"x" * 100_000, line_bytes=5_000)
    assert caught.value.where == "a.txt:2"


def test_accepts_a_line_longer_than_a_block() -> None:
    with patch.object(lines, "_BLOCK", 1_000):
        assert [len(block.data) for block in blocks(b"x" * 4_000, line_bytes=5_000)] == [4_001]


def test_invalid_line_does_not_affect_the_others() -> None:
    data = b"\xef\xbb\xbfone\r\n\xff\xfe two\nth\x00ree\n\n" + b"x" * 100 + b"\nlast"
    file = InputFile.from_bytes("a.txt", data, Limits(document_bytes=50))
    found = [(line.number, line.error.code if line.error else line.text) for line in iter_lines(file)]
    assert found == [
        (1, "one\r"), (2, "input-encoding"), (3, "input-encoding"), (4, ""), (5, "limit-line"), (6, "last"),
    ]  # fmt: skip
    assert all("two" not in str(line.error) for line in iter_lines(file))


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_too_long_line_is_not_kept_in_memory(ending: bytes) -> None:
    file = InputFile.from_bytes("a.txt", b"1|t|" + b"x" * 5_000_000 + b"\n2" + ending, Limits(document_bytes=100_000))
    long, short = iter_lines(file)
    assert (long.number, long.error and long.error.code, long.text[:6]) == (1, "limit-line", "1|t|xx")
    assert len(long.text) <= 65_536
    assert short == (2, "2", None)


@given(st.lists(st.binary(max_size=30).filter(lambda data: b"\n" not in data), max_size=8))
def test_lines_equal_those_of_the_file(pieces: list[bytes]) -> None:
    found = list(iter_lines(InputFile.from_bytes("a.txt", b"\n".join([b"first", *pieces]))))
    kept = [b"first", *pieces] if not pieces or pieces[-1] else [b"first", *pieces][:-1]
    assert [line.number for line in found] == list(range(1, len(kept) + 1))
    for line, data in zip(found, kept, strict=True):
        assert line.error or line.text.encode() == data
