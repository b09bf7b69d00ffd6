"""The PubMed format, which PubMed's website exports as .txt and citation managers as .nbib: a tag for each field. Read-only.

Written from NLM's description of the fields (https://pubmed.ncbi.nlm.nih.gov/help/#pubmed-format). A tag takes four
characters, followed by a dash and a space (`PMID- `, `TI  - `); further lines of a field are indented by six spaces. Citations
are separated by blank lines.

The document id is the PMID. The text is the title (`TI`, else `BTI` of a book, else `TT` in the original language), a space,
and the abstract (`AB`, else `OAB` of another source). Keywords (`OT`), headings (`MH`) and all other fields are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from onym.corpora.base import Facet, Item, MalformedError
from onym.corpora.formats._files import any_looks, head
from onym.corpora.formats._read_only import preserve_nothing, refuse_to_write
from onym.corpora.formats._tagged import iter_records, make_citation, parse_fields
from onym.store.files.source import InputFile, Source

HOLDS: frozenset[Facet] = frozenset({"document ids", "text", "passages"})
IS_FOLDER = False
preserved_facets, write = preserve_nothing, refuse_to_write
EXTENSIONS = (".nbib", ".medline")
MAY_BE_CP1252 = True

_TAG = re.compile(r"(?=.{4}-)([A-Z][A-Z0-9]{1,3}) *-(.*)")
_BEGINS = re.compile(r"PMID-")
_PMID = re.compile(r"PMID- *([0-9]{1,12}) *")
_HEAD = re.compile(rb"PMID- *[0-9]{1,12} *\r?\n(?:[A-Z][A-Z0-9 ]{3}-|$)")


def matches(source: Source) -> bool:
    """Return whether a file begins with a PMID and a second field."""
    return any_looks(source, lambda file: _HEAD.match(head(file)) is not None)


def read(source: Source) -> Iterator[Item]:
    """Yield a document for each citation."""
    return (item for file in source.files for item in _read_file(file))


def _read_file(file: InputFile) -> Iterator[Item]:
    for lines in iter_records(file, _BEGINS, lambda line: not line.strip()):
        pmid = _PMID.fullmatch(lines[0].text)
        try:
            if pmid is None:
                raise MalformedError("a citation does not begin with a PMID", f"{file.name}:{lines[0].number}")
            yield make_citation(pmid[1], parse_fields(lines, _TAG, file.name, indent=" "), ("TI", "BTI", "TT"), ("AB", "OAB"))
        except MalformedError as e:
            yield e.problem(pmid[1] if pmid else "")
