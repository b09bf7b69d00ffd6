"""Errors for files whose format is not recognised: how to convert a document to text, or which formats fit the file."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

from onym.corpora.formats import records, table
from onym.corpora.formats._columns import advice
from onym.corpora.formats._files import TABLES, head, is_json
from onym.errors import ConfigError, InputError, LimitError
from onym.store.files.source import InputFile

_PANDOC = "pandoc {source} -t plain -o {text}"
_CONVERTERS = {
    "a PDF": ("pdftotext -layout {source} {text}", (b"%PDF-",), (".pdf",)),
    "an RTF document": (_PANDOC, (b"{\\rtf",), (".rtf",)),
    "a Word document (DOCX)": (_PANDOC, (), (".docx",)),
    "an OpenDocument text": (_PANDOC, (), (".odt",)),
    "an HTML page": (_PANDOC, (b"<!doctype html", b"<html"), (".html", ".htm")),
    "a Word document (DOC)": ("libreoffice --headless --convert-to txt:Text {source}", (), (".doc",)),
    "a workbook other than .xlsx": ("libreoffice --headless --convert-to csv {source}", (), (".xls", ".ods")),
    "an image": (
        "tesseract {source} {stem}",
        (b"\x89PNG", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*", b"GIF8"),
        (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".bmp", ".webp"),
    ),
}
"""For each kind of document: the command that turns it into text, its first bytes, and its file name extensions."""
_KEY = re.compile(r"[A-Za-z_][\w.\-]{0,39}")  # of damaged JSON, a key may be text of a document
_CONTROLS = bytes(set(range(32)) - {9, 10, 12, 13})
_SHOWN_BYTES = 4096


def require_text(file: InputFile) -> None:
    """Raise InputError if a file is a document that a converter must turn into text first.

    >>> require_text(InputFile.from_bytes("in.pdf", b"%PDF-1.7"))
    Traceback (most recent call last):
    onym.errors.InputError: [format-not-text] the file is a PDF, not text...
    """
    begin = head(file)[:16].lower()
    for kind, (command, starts, endings) in _CONVERTERS.items():
        if begin.startswith(tuple(start.lower() for start in starts)) or (begin and file.stem.endswith(endings)):
            name = PurePosixPath(file.name)
            stem = str(name.with_suffix("")) if name.suffix.lower() in endings else "out"
            names = {"source": str(name), "stem": stem, "text": f"{stem}.txt"}
            fix = command.format(**{key: shlex.quote(value) for key, value in names.items()})
            raise InputError("format-not-text", f"the file is {kind}, not text", where=file.name, fix=f"run {fix}")


def unknown_format(where: str, file: InputFile | None = None) -> ConfigError:
    """Return the error for a file whose format is not recognised, with at most three formats that fit it."""
    fix = "give files with text in one of the corpus formats" if file is None else _fitting(file)
    return ConfigError("format-unknown", "the format is not recognised", where=where, fix=fix)


def _fitting(file: InputFile) -> str:
    data = head(file)
    if file.stem.endswith(TABLES):
        try:
            return advice(table.column_names(file))
        except (InputError, LimitError, ConfigError) as e:
            return e.fix or e.what
    if is_json(file):
        keys = [key for key in records.first_keys(file)[0] if _KEY.fullmatch(key)]
        formats = "or give the format with --from, such as jsonl, bioc_json or pubannotation"
        return f"{advice(keys, 'keys')}; {formats}" if keys else "give the format with --from, such as jsonl or bioc_json"
    if data.startswith(b"<"):
        return "give the format with --from, such as bioc_xml or pubmed"
    if data[:_SHOWN_BYTES].translate(None, _CONTROLS) == data[:_SHOWN_BYTES]:
        other = " or table" if b"\t" in data[:_SHOWN_BYTES] else ""
        return f"give the format with --from, such as text{other}"
    return "convert the file to text"
