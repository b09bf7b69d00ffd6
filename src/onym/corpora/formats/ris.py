"""RIS, the exchange format of reference managers: `TY  - JOUR` to `ER  - `, a tag for each field. Read-only.

Written from the specification (https://en.wikipedia.org/wiki/RIS_(file_format)). The document id is `AN`, else `ID`, else
`DO`, else the file name and the number of the reference. The text is the title (`TI` or `T1`), a space, and the abstract (`AB`
or `N2`). A line without a tag continues the field before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from onym.corpora.base import Facet, Item, MalformedError
from onym.corpora.formats._files import any_looks, head, id_of_file
from onym.corpora.formats._read_only import preserve_nothing, refuse_to_write
from onym.corpora.formats._tagged import iter_records, make_citation, parse_fields
from onym.store.files.source import InputFile, Source

HOLDS: frozenset[Facet] = frozenset({"document ids", "text", "passages"})
IS_FOLDER = False
preserved_facets, write = preserve_nothing, refuse_to_write
EXTENSIONS = (".ris",)
MAY_BE_CP1252 = True

_TAG = re.compile(r"([A-Z][A-Z0-9])  -(.*)")
_BEGINS, _ENDS = re.compile(r"TY  -"), re.compile(r"ER  -")
_HEAD = re.compile(rb"TY  - [A-Z]+ *\r?\n[A-Z][A-Z0-9]  -")
_IDS = ("AN", "ID", "DO")


def matches(source: Source) -> bool:
    """Return whether a file begins with the type of a reference and a second field."""
    return any_looks(source, lambda file: _HEAD.match(head(file)) is not None)


def read(source: Source) -> Iterator[Item]:
    """Yield a document for each reference."""
    return (item for file in source.files for item in _read_file(file))


def _read_file(file: InputFile) -> Iterator[Item]:
    stem = id_of_file(file).removesuffix(".ris")
    for number, lines in enumerate(iter_records(file, _BEGINS, lambda line: _ENDS.match(line) is not None), 1):
        document_id = f"{stem}.{number}"
        try:
            if not _BEGINS.match(lines[0].text):
                raise MalformedError("a reference does not begin with its type (TY)", f"{file.name}:{lines[0].number}")
            fields = parse_fields(lines, _TAG, file.name)
            document_id = next((fields[tag][0] for tag in _IDS if any(fields.get(tag, ())[:1])), document_id)
            yield make_citation(document_id, fields, ("TI", "T1"), ("AB", "N2"))
        except MalformedError as e:
            yield e.problem(document_id)
