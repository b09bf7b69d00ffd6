"""Tests of functions that formats share: file names of documents, lines, and the first bytes of a file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onym.corpora.formats._files import file_name, head, id_of_file, iter_lines
from onym.store.files.encodings import as_utf8
from onym.store.files.source import InputFile


@given(st.text(max_size=40))
def test_file_names_are_safe_and_reversible(document_id: str) -> None:
    name = file_name(document_id)
    assert name.isascii()
    assert name
    assert not set(name) & set('/\\ :*?"<>|\x00\n')
    assert not name.startswith(".")
    if "~" not in name:
        assert id_of_file(InputFile.from_bytes(f"{name}.txt", b"")) == document_id


@given(st.binary(max_size=200).map(lambda data: data.replace(b"\x00", b"").replace(b"\r", b"").replace(b"\xef\xbb\xbf", b"")))
def test_reads_every_latin1_byte(data: bytes) -> None:
    packed = data.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))
    lines = [] if packed else [line.text for line in iter_lines(as_utf8(InputFile.from_bytes("a", data), "latin-1"))]
    assert packed or "\n".join(lines) == data.decode("latin-1").removesuffix("\n")


def test_head_returns_the_first_bytes() -> None:
    assert head(InputFile.from_bytes("a", b"\xef\xbb\xbf \n x" + b"y" * 99_999)).startswith(b"xy")
