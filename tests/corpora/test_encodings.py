"""Tests of corpora that are not in UTF-8, and of documents that are not text."""

from __future__ import annotations

import logging
import zipfile
from pathlib import Path

import pytest

from onym.corpora.base import documents_of
from onym.corpora.corpus import read_corpus
from onym.errors import ConfigError, InputError

TEXT = "Sjögren syndrome, 39 °C"


def test_cp1252_is_read_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(TEXT, "cp1252")
    (tmp_path / "utf8.txt").write_text(TEXT, "utf-8")
    with caplog.at_level(logging.WARNING, "onym.corpora"):
        reading = read_corpus(tmp_path)
        assert {doc.text for doc in documents_of(reading)} == {TEXT}
    assert [file.encoding for file in reading.files] == ["cp1252", "cp1252", "cp1252", ""]
    assert [record.getMessage() for record in caplog.records] == [
        "0.txt and 2 other files: not UTF-8 and read as Windows-1252 (cp1252); if letters are wrong, give --encoding"
    ]


@pytest.mark.parametrize(("name", "encoding"), [("a.txt", "utf-16"), ("a.jsonl", "utf-16"), ("a.csv", "utf-16")])
def test_utf16_is_recognised_before_the_format(name: str, encoding: str, tmp_path: Path) -> None:
    data = {"a.txt": TEXT, "a.jsonl": f'{{"id":"1","text":"{TEXT}"}}', "a.csv": f'id,text\n1,"{TEXT}"\n'}[name]
    (tmp_path / name).write_text(data, encoding)
    assert [doc.text for doc in documents_of(read_corpus(tmp_path / name))] == [TEXT]


def test_a_given_encoding_is_used_for_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, "cp850")
    assert [doc.text for doc in documents_of(read_corpus(tmp_path, encoding="cp850"))] == [TEXT]
    with pytest.raises(ConfigError, match="no text encoding"):
        read_corpus(tmp_path, encoding="klingon")


def test_damaged_utf8_and_binary_data_are_not_cp1252(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT.encode() + b"\xff")
    reading = read_corpus(tmp_path)
    assert list(documents_of(reading)) == []
    assert [(file.state, file.code) for file in reading.files] == [("failed", "input-encoding")]


@pytest.mark.parametrize(
    ("name", "data", "command"),
    [
        ("in.pdf", b"%PDF-1.7", "pdftotext -layout in.pdf in.txt"),
        ("pdf.txt", b"%PDF-1.7", "pdftotext -layout pdf.txt out.txt"),
        ("a b.docx", b"", "pandoc 'a b.docx' -t plain -o 'a b.txt'"),
        ("in.odt", b"", "pandoc in.odt -t plain -o in.txt"),
        ("in.rtf", b"{\\rtf1", "pandoc in.rtf -t plain -o in.txt"),
        ("in.html", b"<!DOCTYPE html>", "pandoc in.html -t plain -o in.txt"),
        ("in.doc", b"\xd0\xcf\x11\xe0", "libreoffice --headless --convert-to txt:Text in.doc"),
        ("in.png", b"\x89PNG\r\n", "tesseract in.png in"),
        ("scan", b"\xff\xd8\xff\xe0", "tesseract scan out"),
    ],
)
def test_a_document_that_is_not_text_is_refused_with_a_command(name: str, data: bytes, command: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if data:
        path.write_bytes(data)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("word/document.xml", "<w:document/>")
    with pytest.raises(InputError) as caught:
        read_corpus(path)
    assert (caught.value.code, caught.value.fix) == ("format-not-text", f"run {command}")
