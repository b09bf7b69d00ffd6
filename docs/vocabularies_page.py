"""Writes the tables of docs/reference/vocabularies.md from the table of vocabularies: `python docs/vocabularies_page.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from onym.vocabularies import Vocabulary, vocabularies

PAGE = Path(__file__).parent / "reference" / "vocabularies.md"
_PASSED_ON = {"yes": "yes", "unaltered": "unaltered, with its version", "no": "no", "": "state the licence"}
_TABLE = re.compile(r"^\|.*\n(?:\|.*\n)+", re.MULTILINE)


def page_with_tables(page: str) -> str:
    """Return the page with its tables made anew: prefixes, licences, then names in FHIR and OMOP."""
    tables = iter((_prefixes(), _licences(), _names()))
    return _TABLE.sub(lambda _: "\n".join(next(tables)) + "\n", page)


def _prefixes() -> Iterator[str]:
    yield from _head("prefix", "vocabulary", "also written", "ids without a prefix", "semantic group")
    for row in vocabularies().values():
        yield _line(f"`{row.prefix}`", row.full_title or row.title, _codes(*row.aliases), _shapes(row), ", ".join(row.groups))


def _licences() -> Iterator[str]:
    yield from _head("prefix", "name in packs", "licence", "may be redistributed", "`onym kb download`")
    for row in vocabularies().values():
        if row.licence:
            name = f"`{row.download_name or row.prefix}`" if row.download or row.how else ""
            how = name if row.download or not name else f"{name}: explains how to get it"
            yield _line(f"`{row.prefix}`", row.title, row.licence, _PASSED_ON[row.redistribution], how)


def _names() -> Iterator[str]:
    yield from _head("prefix", "FHIR `system`", "OMOP `vocabulary_id`", "codes")
    for row in vocabularies().values():
        if row.fhir or row.omop:
            code = f"`{row.prefix.upper()}:…`" if row.prefix_in_codes else "without the prefix"
            yield _line(f"`{row.prefix}`", _codes(row.fhir), _codes(row.omop), code)


def _shapes(row: Vocabulary) -> str:
    typed = (f"{_codes(pattern)} of {group}" for group, pattern in row.typed_patterns.items())
    return ", ".join(filter(None, (_codes(row.pattern), *typed)))


def _codes(*texts: str) -> str:
    return ", ".join(f"`{text}`" for text in texts if text)


def _head(*cells: str) -> tuple[str, str]:
    return _line(*cells), f"|{'---|' * len(cells)}"


def _line(*cells: str) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in (each.replace("|", "\\|") for each in cells))


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text("utf-8")), "utf-8")
