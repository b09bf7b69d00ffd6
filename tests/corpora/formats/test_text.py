"""Tests that plain text is read and written unchanged."""

from __future__ import annotations

import pytest

from onym.corpora.formats import detect, text
from onym.errors import InputError, LimitError
from onym.store.files.source import InputFile, Source
from onym.store.limits import Limits
from onym.types import Document
from tests.support.documents import source_of, write_to_memory


def test_texts_are_unchanged() -> None:
    source = source_of(a__txt="\ufeffone\r\ntwo\x00", b__txt="")
    assert detect(source) == "text"
    docs = list(text.read(source))
    assert docs == [Document("a", "\ufeffone\r\ntwo\x00"), Document("b", "")]
    assert write_to_memory(text, docs) == {"a.txt": "\ufeffone\r\ntwo\x00".encode(), "b.txt": b""}  # type: ignore[arg-type]


def test_the_file_name_is_the_document_id() -> None:
    assert list(write_to_memory(text, [Document("a/b c", "")])) == ["a%2Fb%20c.txt"]
    (doc,) = text.read(source_of(**{"a%2Fb%20c__txt": ""}))
    assert isinstance(doc, Document)
    assert doc.id == "a/b c"
    (other,) = text.read(source_of(**{"100%FF__txt": ""}))
    assert isinstance(other, Document)
    assert other.id == "100%FF"


def test_bad_files_are_rejected() -> None:
    with pytest.raises(InputError) as caught:
        list(text.read(source_of(a__txt=b"\xff")))
    assert caught.value.code == "input-encoding"
    long = InputFile.from_bytes("a.txt", b"x" * 200_000, Limits(document_bytes=100_000))
    with pytest.raises(LimitError) as limited:
        list(text.read(Source("a", (long,))))
    assert limited.value.code == "limit-record"
