"""Tests of splitting a file into ranges of whole lines."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from onym.store.files.input_file import InputFile, line_ranges, range_of


@given(st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"")), max_size=20), st.integers(1, 60))
def test_ranges_cover_the_file_in_whole_lines(lines: list[bytes], size: int) -> None:
    data = b"\n".join(lines)
    file = InputFile.from_bytes("a.jsonl", data)
    found = line_ranges(file, size)
    parts = []
    for each in found:
        with range_of(file, each.start, each.end).opener() as raw:
            parts.append(raw.read())
    assert b"".join(parts) == data
    assert [hashlib.sha256(part).hexdigest() for part in parts] == [each.digest for each in found]
    assert all(part.endswith(b"\n") for part in parts[:-1])
    for number, each in enumerate(found):
        before = b"".join(parts[:number]).split(b"\n")
        assert each.lines_before == sum(bool(line.strip()) for line in before)
