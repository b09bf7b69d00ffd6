"""Reader of OBO flat files, versions 1.2 and 1.4, stanza by stanza.

Only the clauses we use are parsed, and anything after their values (cross-references of definitions and synonyms, qualifiers,
comments) is ignored: real files of older releases violate the grammar there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from onym.errors import InputError, LimitError
from onym.kb.curie import to_curie
from onym.kb.readers._shared import synonym_kind
from onym.kb.schema import Rows
from onym.store.files.lines import iter_blocks
from onym.store.files.source import InputFile, Source
from onym.types import NameKind, ParentKind, SuccessorKind

_SCOPES = {"EXACT": NameKind.EXACT, "NARROW": NameKind.NARROW, "BROAD": NameKind.BROAD, "RELATED": NameKind.RELATED}
_SYNONYMS = {f"{scope.lower()}_synonym": kind for scope, kind in _SCOPES.items()} | {"synonym": NameKind.RELATED}
_USED = frozenset(
    {"id", "name", "def", "xref", "alt_id", "is_a", "is_obsolete", "replaced_by", "consider", "relationship", *_SYNONYMS}
)
_QUOTED = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"([^\["{!]*+)(?=$|[\[{!])')
_AFTER_ID = re.compile(r'(?:^|\s)["{!]')
_QUALIFIERS = re.compile(r'(?<=\s)\{[^\s{}"=]+="[^{}]*\}\s*(?:!.*)?$')
_COMMENT = re.compile(r"(?:^|\s)!.*$")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "W": " "}
_ORIGIN = re.compile(r"derived_from\s+(CVCL_\w+)")  # in Cellosaurus: the cell line that this one comes from
_SPECIES = "ncbi_taxid:"  # in Cellosaurus: a cross-reference to the species of a cell line
_CAS = '"CAS Registry Number"'  # in older ChEBI releases this label, not the prefix, marks CAS numbers


def matches(source: Source) -> bool:
    """Return whether the release has an .obo file."""
    return source.find("*.obo") is not None


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names, definitions, cross-references, parents, alternative ids and successors of all terms."""
    rows = Rows(source.name)
    for file in source.matching("*.obo"):
        for term in _terms(file):
            term.add_to(rows)
            yield from rows.full()
    yield from rows.rest()


class _Term:
    """The unparsed clauses of one stanza, only the tags we use."""

    def __init__(self, file: InputFile, line: int) -> None:
        self._file = file
        self._line = line
        self._size = 0
        self._clauses: dict[str, list[tuple[str, int]]] = {}

    def take(self, tag: str, value: str, line: int) -> None:
        self._clauses.setdefault(tag, []).append((value, line))
        self._size += len(value)
        if self._size > self._file.limits.block_bytes:
            what = f"one stanza is larger than {self._file.limits.block_bytes:,} bytes"
            raise LimitError("limit-record", what, where=f"{self._file.name}:{self._line}")

    def add_to(self, rows: Rows) -> None:
        concept_id, names = next(iter(self._ids("id")), ""), [_text(value) for value, _ in self._of("name")]
        if not concept_id:
            raise self._make_error("a term has no id", self._line)
        name = next((name for name in names if name), None)
        for other in self._ids("alt_id"):
            rows.add(other, kind=NameKind.RETIRED, successors=[concept_id], successor_kind=SuccessorKind.MERGED)
        if any(value.lower().split()[:1] == ["true"] for value, _ in self._of("is_obsolete")):
            rows.add(concept_id, name=name, kind=NameKind.RETIRED, successors=self._ids("replaced_by"))
            if others := self._ids("consider"):
                rows.add(concept_id, kind=NameKind.RETIRED, successors=others, successor_kind=SuccessorKind.CONSIDER)
            return
        rows.add(concept_id, name=name, kind=NameKind.PREFERRED)
        self._add_synonyms(rows, concept_id)
        for value, line in self._of("def"):
            definition, after = self._parse_quoted(value, line)
            if after:
                raise self._make_error("a definition has text after its closing quote", line)
            rows.add(concept_id, definition=definition or None)
        xrefs = self._xrefs()
        if species := [f"ncbitaxon:{xref.removeprefix(_SPECIES)}" for xref in xrefs if xref.startswith(_SPECIES)]:
            rows.add(concept_id, semantic_types=species)
        if others := [xref for xref in xrefs if not xref.startswith(_SPECIES)]:
            rows.add(concept_id, xrefs=others)
        if parents := self._ids("is_a"):
            rows.add(concept_id, parents=parents)
        if origins := [to_curie(found[1]) for value, _ in self._of("relationship") if (found := _ORIGIN.match(value))]:
            rows.add(concept_id, parents=origins, parent_kind=ParentKind.BROADER)

    def _add_synonyms(self, rows: Rows, concept_id: str) -> None:
        for tag, scope in _SYNONYMS.items():
            for value, line in self._of(tag):
                name, after = self._parse_quoted(value, line)
                words = after.split()
                kind = _SCOPES.get(words[0]) if words else None
                types = words[1:] if kind is not None else words
                if len(types) > 1:
                    raise self._make_error("a synonym has more fields than a text, a scope and a type", line)
                found = synonym_kind(scope if kind is None else kind, types[0] if types else "")
                if name and found is not None:
                    rows.add(concept_id, name=name, kind=found)

    def _of(self, tag: str) -> list[tuple[str, int]]:
        return self._clauses.get(tag, [])

    def _ids(self, tag: str) -> list[str]:
        return [curie for curie, _ in self._curies(tag)]

    def _curies(self, tag: str) -> list[tuple[str, str]]:
        """Return the id of each clause as a CURIE, and the whole clause. A clause without an id is skipped."""
        pairs = [(_unescape(_AFTER_ID.split(value, maxsplit=1)[0]), value) for value, _ in self._of(tag)]
        return [(to_curie(written), value) for written, value in pairs if written]

    def _xrefs(self) -> list[str]:
        return [f"cas:{curie.partition(':')[2]}" if _CAS in value else curie for curie, value in self._curies("xref")]

    def _parse_quoted(self, value: str, line: int) -> tuple[str, str]:
        match = _QUOTED.match(value)
        if match is None:
            raise self._make_error("a text lacks its opening or closing quote", line)
        return _unescape(match[1]), match[2].strip()

    def _make_error(self, what: str, line: int) -> InputError:
        fix = "fetch the file again, or validate it with an OBO tool such as ROBOT"
        return InputError("obo-malformed", what, where=f"{self._file.name}:{line}", fix=fix)


def _terms(file: InputFile) -> Iterator[_Term]:
    term: _Term | None = None
    for block in iter_blocks(file):
        for number, raw in enumerate(block.data.decode().split("\n")[:-1], block.first_line):
            line = raw.strip()
            if line.startswith("["):
                if term is not None:
                    yield term
                term = _Term(file, number) if line.startswith("[Term]") else None
            elif term is not None:
                tag, colon, value = line.partition(":")
                if colon and tag in _USED:
                    term.take(tag, value.lstrip(), number)
    if term is not None:
        yield term


def _text(value: str) -> str:
    """Return an unquoted text without its trailing qualifiers and comment."""
    if "{" in value or "!" in value:
        value = _COMMENT.sub("", _QUALIFIERS.sub("", value))
    return _unescape(value)


def _unescape(text: str) -> str:
    if "\\" in text:
        text = _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text)
    return text.strip()
