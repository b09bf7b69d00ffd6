"""Reader of the ICD-10-CM tabular list in XML (icd10cm_tabular_2026.xml): chapters, sections and codes.

Codes with a seventh character (S72.001A) are not in the list: it has the code without it, and says which characters may follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from onym.kb.readers._shared import head, matching_files
from onym.kb.schema import Rows
from onym.store.files.source import InputFile, Source
from onym.store.files.xml import iter_records
from onym.types import NameKind, ParentKind

if TYPE_CHECKING:
    from onym.store.files.xml import Element

_RANGE = re.compile(r"\s*\(([A-Z][0-9A-Z]{2}(?:-[A-Z][0-9A-Z]{2})?)\)$")  # at the end of a title: Neoplasms (C00-D49)
_RESIDUAL = re.compile(r"other\b", re.IGNORECASE)  # a category for the rest: its inclusion terms are conditions of their own


def matches(source: Source) -> bool:
    """Return whether an XML file begins with a tabular list."""
    return any(_is_tabular(file) for file in source.matching("*.xml"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield titles, inclusion terms and parents of chapters, sections and codes."""
    rows = Rows(source.name)
    for file in matching_files(source.matching("*.xml"), _is_tabular):
        chapter, sections = "", list[str]()
        for record in iter_records(file, frozenset({"desc", "section"})):
            if record.tag == "section":
                section = record.get("id", "").strip()
                above = next((each for each in reversed(sections) if _is_within(section, each)), chapter)
                sections.append(section)
                _add(rows, section, above, record)
            elif found := _RANGE.search(record.text or ""):  # the title of a chapter
                chapter, sections = found[1], []
                _add_title(rows, chapter, record.text or "")
            yield from rows.full()
    yield from rows.rest()


def _is_tabular(file: InputFile) -> bool:
    return b"<ICD10CM.tabular" in head(file)


def _is_within(section: str, other: str) -> bool:
    """Return whether the codes of a section are among those of another one."""
    first, last = _bounds(section)
    first_other, last_other = _bounds(other)
    return section != other and first_other <= first and last <= last_other


def _bounds(section: str) -> tuple[str, str]:
    first, _, last = section.partition("-")
    return first, last or first


def _add(rows: Rows, code: str, parent: str, element: Element) -> None:
    """Add the rows of a section or code, and of all codes inside it."""
    pending = [(code, parent, element)]
    while pending:
        code, parent, element = pending.pop()
        if code:
            title = _add_title(rows, code, element.findtext("desc") or "")
            kind = NameKind.NARROW if _RESIDUAL.match(title) else NameKind.EXACT
            for note in element.iterfind("inclusionTerm/note"):
                if name := _plain(note.text):
                    rows.add(_curie(code), name=name, kind=kind, language="en")
            if parent and parent != code:  # a section may have the code of its only category
                rows.add(_curie(code), parents=[_curie(parent)], parent_kind=ParentKind.IS_A)
        inside = [(_plain(each.findtext("name")), code or parent, each) for each in element.iterfind("diag")]
        pending += reversed(inside)


def _add_title(rows: Rows, code: str, text: str) -> str:
    """Add the title of a chapter, section or code, without the range of codes at its end, and return it."""
    title = _RANGE.sub("", _plain(text))
    if title:
        rows.add(_curie(code), name=title, kind=NameKind.PREFERRED, language="en")
    return title


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


def _curie(code: str) -> str:
    return f"icd10cm:{code}"
