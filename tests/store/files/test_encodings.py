"""Tests of recognising encodings, and of re-encoding files as UTF-8."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError, InputError
from onym.store.files.encodings import as_utf8, recognise, require_encoding
from onym.store.files.input_file import InputFile


def file(data: bytes) -> InputFile:
    return InputFile.from_bytes("a.txt", data)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("37 °C, Sjögren".encode("cp1252"), "cp1252"),
        ("Spaß… „gut“".encode("cp1252"), "cp1252"),
        ("x" * 70_000 + "ü", ""),
        (("x" * 70_000 + "ü").encode("cp1252"), "cp1252"),
        ("37 °C".encode("utf-16"), "utf-16"),
        (b"\xfe\xff\x00a", "utf-16"),
        ("37 °C".encode("utf-32"), ""),
        (b"", ""),
        (b"caf\xe9 \x81", ""),  # a byte that cp1252 does not define
        (b"caf\xe9 \x00", ""),  # a NUL
        (b"caf\xe9 \x1b", ""),  # a control character
        ("Sjögren ".encode() + b"\xff", ""),  # damaged UTF-8
        (b"x" * 65_535 + "ö".encode() + b"\xff", ""),  # damaged UTF-8, with a character across two chunks
    ],
)
def test_recognises_encodings(data: bytes | str, encoding: str) -> None:
    made = file(data.encode() if isinstance(data, str) else data)
    assert recognise(made, may_be_cp1252=True) == encoding
    assert recognise(made) in ("", "utf-16")
    assert not made.was_read


@given(text=st.text(st.characters(exclude_categories=["Cs"])), size=st.integers(1, 50))
def test_a_recoded_file_has_the_same_text_in_any_chunks(text: str, size: int) -> None:
    with as_utf8(file(text.encode("utf-16")), "utf-16").open() as stream:
        chunks = list(iter(lambda: stream.read(size), b""))
    assert b"".join(chunks).decode() == text
    assert all(len(chunk) <= size for chunk in chunks)


def test_data_that_does_not_decode_is_an_error_without_text() -> None:
    for data in (b"\xff\xfea", b"\xff\xfe\x00\xd8a\x00"):
        with pytest.raises(InputError, match="not valid UTF-16") as caught, as_utf8(file(data), "utf-16").open() as stream:
            stream.read()
        assert caught.value.code == "input-encoding"


@pytest.mark.parametrize("name", ["klingon", "base64", "rot13", "zlib", "idna", "punycode", "unicode_escape", "a\x00b", ""])
def test_unknown_encodings_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="no text encoding"):
        require_encoding(name)
