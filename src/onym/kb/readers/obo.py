"""OBO flat files, parsed by fastobo, one stanza after the other.

Only the clauses that are used reach the parser, without the cross-references of definitions and synonyms: genuine files
of older releases hold spaces in those, which the grammar does not allow.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from onym.errors import InputError
from onym.kb.curie import to_curie
from onym.kb.schema import Rows
from onym.store.lines import Block, iter_blocks
from onym.store.source import InputFile, Source
from onym.types import NameKind

_USED = re.compile(rb"^(?:id|name|def|synonym|xref|alt_id|is_obsolete|replaced_by|namespace):")
_KINDS = {"EXACT": NameKind.EXACT, "NARROW": NameKind.NARROW, "BROAD": NameKind.BROAD, "RELATED": NameKind.RELATED}
_NOT_NAMES = {"FORMULA", "SMILES", "InChI", "InChIKey"}  # ChEBI lists these among the synonyms


def matches(source: Source) -> bool:
    """Tell whether the release is an OBO file."""
    return source.find("*.obo") is not None


def read(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield names, definitions, cross-references, alternative ids and successors of every term."""
    rows = Rows()
    for file in source.matching("*.obo"):
        for block in _whole_stanzas(file):
            for frame in _frames(block):
                _add(rows, frame)
                yield from rows.full()
    yield from rows.rest()


def _whole_stanzas(file: InputFile) -> Iterator[Block]:
    """Keep the terms' stanzas and, of each, the clauses that are used; cut blocks between stanzas."""
    pending: list[bytes] = []
    in_term, first_line, line_number = False, 1, 0
    for block in iter_blocks(file):
        for raw in block.data.split(b"\n")[:-1]:
            line_number += 1
            line = raw.strip()
            if line.startswith(b"["):
                if len(pending) > 50_000:
                    yield Block(b"".join(pending), first_line, file.name)
                    pending, first_line = [], line_number
                in_term = line.startswith(b"[Term]")
                if in_term:
                    pending.append(b"\n[Term]\n")
            elif in_term and _USED.match(line):
                pending.append(_mended(line) + b"\n")
    if pending:
        yield Block(b"".join(pending), first_line, file.name)


def _mended(line: bytes) -> bytes:
    if line.startswith((b"def:", b"synonym:")):
        text, quote, _ = line.rpartition(b"[")
        return text + b"[]" if quote else line
    if line.startswith(b"xref:"):
        identifier, quote, description = line[5:].strip().partition(b' "')
        return b"xref: " + identifier.replace(b"\\ ", b" ").replace(b" ", b"\\ ") + quote + description
    return line


def _frames(block: Block) -> Iterator[Any]:
    import fastobo

    try:
        for frame in fastobo.iter(io.BytesIO(block.data), ordered=True, threads=1):
            if isinstance(frame, fastobo.term.TermFrame):
                yield frame
    except (KeyboardInterrupt, GeneratorExit, MemoryError):
        raise
    except BaseException as e:  # a panic of the parser is not an Exception
        where = f"{block.where} and the lines after it"
        raise InputError("obo-malformed", "not a well-formed OBO stanza", where=where, fix="check it with an OBO tool") from e


def _add(rows: Rows, frame: Any) -> None:
    concept_id = to_curie(str(frame.id))
    clauses: dict[str, list[Any]] = {}
    for clause in frame:
        clauses.setdefault(clause.raw_tag(), []).append(clause)
    name = next((c.name for c in clauses.get("name", ())), None)
    if any(c.obsolete for c in clauses.get("is_obsolete", ())):
        successor = next((to_curie(str(c.term)) for c in clauses.get("replaced_by", ())), None)
        rows.add(concept_id, name=name, kind=NameKind.RETIRED, replaced_by=successor)
        return
    rows.add(concept_id, name=name, kind=NameKind.PREFERRED)
    for clause in clauses.get("synonym", ()):
        synonym = clause.synonym
        if str(synonym.type or "") not in _NOT_NAMES:
            rows.add(concept_id, name=synonym.desc, kind=_kind(synonym))
    for clause in clauses.get("def", ()):
        rows.add(concept_id, definition=str(clause.definition))
    if xrefs := [to_curie(_unescaped(c.xref.id)) for c in clauses.get("xref", ())]:
        rows.add(concept_id, xrefs=xrefs)
    for clause in clauses.get("alt_id", ()):
        rows.add(to_curie(str(clause.alt_id)), kind=NameKind.RETIRED, replaced_by=concept_id)


def _kind(synonym: Any) -> NameKind:
    is_abbreviation = str(synonym.type or "").lower() in ("abbreviation", "acronym")
    return NameKind.ABBREVIATION if is_abbreviation else _KINDS.get(str(synonym.scope), NameKind.RELATED)


def _unescaped(identifier: Any) -> str:
    return str(identifier).replace("\\ ", " ").replace("\\", "")
