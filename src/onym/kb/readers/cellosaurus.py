"""Reader of Cellosaurus: cellosaurus.txt, and cellosaurus_deleted_ACs.txt. The reader of OBO files reads cellosaurus.obo.

An entry has lines of a code of two letters, three spaces and a value, and ends with `//`. Everything before the first entry is
a heading. The species of a cell line are semantic types, as ids of NCBI Taxonomy, and so is its category.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from onym.errors import InputError, LimitError
from onym.kb.curie import to_curie
from onym.kb.readers._shared import head
from onym.kb.schema import Rows
from onym.store.files.lines import iter_blocks
from onym.store.files.source import InputFile, Source
from onym.types import NameKind, ParentKind, SuccessorKind

_USED = frozenset({"ID", "AC", "AS", "SY", "DR", "OX", "HI", "CA"})
_ENTRY = re.compile(rb"^ID   .+\nAC   CVCL_", re.MULTILINE)
_DELETED = re.compile(r"(CVCL_[A-Za-z0-9]+)\b(?:.*?\bin release ([0-9]+))?")
_ACCESSION = re.compile(r"CVCL_[A-Za-z0-9]+")
_TAXON = re.compile(r"NCBI_TaxID=([0-9]+)")


def matches(source: Source) -> bool:
    """Return whether the release has cellosaurus.txt."""
    return any(_is_list(file) or _ENTRY.search(head(file)) for file in source.matching("*cellosaurus*.txt"))


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names, species, categories, cross-references and parents of cell lines, and secondary and deleted accessions."""
    rows = Rows(source.name)
    for file in source.matching("*cellosaurus*.txt"):
        if _is_list(file):
            _add_deleted(rows, file)
        elif file.stem == "cellosaurus.txt" or _ENTRY.search(head(file)):
            for entry in _entries(file):
                entry.add_to(rows)
                yield from rows.full()
    yield from rows.rest()


def _is_list(file: InputFile) -> bool:
    return "deleted" in file.stem


class _Entry:
    """The lines of an entry that are used, by code. `line` is the number of its first line."""

    def __init__(self, file: InputFile, line: int) -> None:
        self._file, self._line, self._size = file, line, 0
        self._values: dict[str, list[str]] = {}

    def take(self, code: str, value: str) -> None:
        self._values.setdefault(code, []).append(value)
        self._size += len(value)
        if self._size > self._file.limits.block_bytes:
            what = f"one entry is larger than {self._file.limits.block_bytes:,} bytes"
            raise LimitError("limit-record", what, where=f"{self._file.name}:{self._line}")

    def add_to(self, rows: Rows) -> None:
        accession = _ACCESSION.fullmatch(next(iter(self._of("AC")), ""))
        if not accession:
            where, fix = f"{self._file.name}:{self._line}", "fetch the file again"
            raise InputError("cellosaurus-malformed", "an entry has no accession", where=where, fix=fix)
        concept_id = _curie(accession[0])
        species = [f"ncbitaxon:{number}" for value in self._of("OX") for number in _TAXON.findall(value)]
        for name in self._of("ID"):
            rows.add(concept_id, name=name, kind=NameKind.PREFERRED, semantic_types=[*species, *self._of("CA")] or None)
        for name in self._parts("SY"):
            rows.add(concept_id, name=name, kind=NameKind.EXACT)
        if xrefs := [_xref(value) for value in self._of("DR") if "; " in value]:
            rows.add(concept_id, xrefs=xrefs)
        if parents := [_curie(found[0]) for value in self._of("HI") if (found := _ACCESSION.match(value))]:
            rows.add(concept_id, parents=parents, parent_kind=ParentKind.BROADER)
        for other in self._parts("AS"):
            rows.add(_curie(other), kind=NameKind.RETIRED, successors=[concept_id], successor_kind=SuccessorKind.MERGED)

    def _of(self, code: str) -> list[str]:
        return self._values.get(code, [])

    def _parts(self, code: str) -> list[str]:
        """Return the values of a code, of which a line may have several."""
        return [part for value in self._of(code) for part in value.split("; ") if part]


def _entries(file: InputFile) -> Iterator[_Entry]:
    entry: _Entry | None = None
    for number, line in _lines(file):
        code, value = line[:2], line[5:].strip()
        if code == "//":
            if entry is not None:
                yield entry
            entry = None
        elif line.startswith("ID   ") and entry is None:
            entry = _Entry(file, number)
        if entry is not None and code in _USED and value:
            entry.take(code, value)
    if entry is not None:
        what = "the file ends inside an entry, so it is truncated"
        raise InputError("cellosaurus-malformed", what, where=file.name, fix="fetch the file again")


def _lines(file: InputFile) -> Iterator[tuple[int, str]]:
    for block in iter_blocks(file):
        yield from enumerate(block.data.decode().removeprefix("\ufeff").split("\n")[:-1], block.first_line)


def _curie(accession: str) -> str:
    return f"cellosaurus:{accession}"


def _xref(value: str) -> str:
    """Return a cross-reference: `BTO; BTO:0000001`, `CLO; CLO_0000001` or `ATCC; CCL-2`."""
    database, _, local = value.partition("; ")
    return to_curie(local.strip().removeprefix(f"{database}_"), database)


def _add_deleted(rows: Rows, file: InputFile) -> None:
    """Add the accessions of deleted cell lines: `CVCL_0222  Deleted in release 20; not a real cell line`."""
    for _, line in _lines(file):
        if found := _DELETED.match(line):
            rows.add(_curie(found[1]), kind=NameKind.RETIRED, release=found[2])
