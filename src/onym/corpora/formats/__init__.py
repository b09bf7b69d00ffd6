"""The corpus formats. Each format is a module that implements `Format` of `corpora/base.py`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import cast

from onym.corpora.base import Format
from onym.corpora.formats._files import TABLES, first_bytes, is_json
from onym.errors import ConfigError, OnymError
from onym.registry import FORMATS
from onym.store.files.source import InputFile, Source

READ_ONLY = ("pubmed", "records", "medline", "ris", "table")
_ALSO = {"bioc": "bioc_xml"}  # aliases


def get(name: str) -> Format:
    """Return the format with this name.

    >>> get("bioc").__name__
    'onym.corpora.formats.bioc_xml'
    """
    return cast("Format", FORMATS.load(_ALSO.get(name, name)))


def detect(source: Source) -> str:
    """Detect the format of the first group of files that belong together or, if there are no groups, of the first file.

    >>> detect(Source.of_files("a", [InputFile.from_bytes("a.txt", b"1|t|Fever\\n1|a|\\n")]))
    'pubtator'
    """
    for name, _ in iter_groups(source):
        return name
    if source.files and (found := format_of(source.files[0])):
        return found
    raise ConfigError("format-unknown", "the format is not recognised", where=source.name, fix="give the format with --from")


def iter_groups(source: Source, only: str = "") -> Iterator[tuple[str, tuple[InputFile, ...]]]:
    """Yield the groups of files that belong together, with their format. If `only` is given, try only that format."""
    for name in FORMATS.names_in_order if not only else [only]:
        form = get(name) if only else _load_format(name)
        if groups := getattr(form, "groups", None):
            yield from ((name, tuple(group)) for group in groups(source))


def format_of(file: InputFile) -> str:
    """Detect a file's format by its extension or, if that is unknown, by its first bytes; return "" if not recognised.

    >>> format_of(InputFile.from_bytes("a.txt", b"High fever")), format_of(InputFile.from_bytes("a.bin", b"High fever"))
    ('text', '')
    """
    names = FORMATS.names_in_order
    for name in names:
        if file.stem.endswith(getattr(_load_format(name), "EXTENSIONS", ())):
            return name
    begin = Source(file.name, (InputFile.from_bytes(file.name, first_bytes(file), file.limits),))
    return next((name for name in names if _matches(get(name), begin)), "")


def format_with_columns(file: InputFile) -> str:
    """Return the format of a file whose columns or keys the user names: `records` for JSON, `table` by its extension, else "".

    >>> format_with_columns(InputFile.from_bytes("a.csv", b"nr,befund"))
    'table'
    """
    return "records" if is_json(file) else "table" if file.stem.endswith(TABLES) else ""


def formats_to_write() -> dict[str, str]:
    """Return a dict of file extensions and formats, for the formats that are written to a single file.

    >>> formats_to_write()[".pubtator"]
    'pubtator'
    """
    forms = [(name, _load_format(name)) for name in FORMATS.names if name not in READ_ONLY]
    return {each: name for name, form in forms if form and not form.IS_FOLDER for each in getattr(form, "EXTENSIONS", ())}


def _load_format(name: str) -> Format | None:
    """Return a format, or None if it is a broken plug-in."""
    with suppress(ConfigError):
        return get(name)
    return None


def _matches(form: Format, begin: Source) -> bool:
    try:
        return form.matches(begin)
    except OnymError:  # the first bytes may end within a record, which raises an error in some formats
        return False
