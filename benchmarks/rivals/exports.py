"""Writers of a knowledge base in the formats of other tools."""

from __future__ import annotations

import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Literal

import polars as pl

from onym.kb import KnowledgeBase
from onym.kb.export import export_kb
from onym.kb.groups import groups_of_type
from onym.types import Concept

Writer = Callable[[KnowledgeBase, BinaryIO], None]


def write_jsonl(kb: KnowledgeBase, file: BinaryIO) -> None:
    """Write one concept per line, as `onym kb export` does."""
    export_kb(kb, file, "jsonl")


def write_scispacy(kb: KnowledgeBase, file: BinaryIO) -> None:
    """Write one concept per line without cross-references, which scispaCy's KnowledgeBase refuses."""
    everything = io.BytesIO()
    export_kb(kb, everything, "jsonl")
    for line in everything.getvalue().splitlines():
        concept = json.loads(line)
        del concept["xrefs"]
        file.write(json.dumps(concept, ensure_ascii=False).encode() + b"\n")


def write_patterns(kb: KnowledgeBase, file: BinaryIO) -> None:
    """Write one pattern per line for spaCy's EntityRuler and PhraseMatcher: label (the semantic group), pattern, id."""
    for concept in kb:
        label = next(iter(_groups(concept)), "Concept")
        for name in _names(concept):
            pattern = {"label": label, "pattern": name, "id": concept.id}
            file.write(json.dumps(pattern, ensure_ascii=False).encode() + b"\n")


def write_gilda(kb: KnowledgeBase, file: BinaryIO) -> None:
    """Write a terms file for `gilda.Grounder`."""
    columns = ("norm_text", "text", "db", "id", "entry_name", "status", "source", "organism", "source_db", "source_id")
    _write_csv(file, columns, (row for concept in kb for row in _gilda_rows(concept)), "\t")


def _gilda_rows(concept: Concept) -> Iterator[tuple[str, ...]]:
    prefix, _, local = concept.id.partition(":")
    names = _names(concept)
    for name in names:
        status = "name" if name == names[0] else "synonym"
        if normal := _gilda_form(name):
            yield normal, name, prefix.upper(), local, names[0], status, "onym", "", "", ""


_DASHES = dict.fromkeys((0x2212, 0x2D, *range(0x2010, 0x2016)))


def _gilda_form(name: str) -> str:
    """Return a name as Gilda compares names: in lower case, without dashes and accents."""
    bare = "".join(char for char in unicodedata.normalize("NFKD", name) if not unicodedata.combining(char))
    return bare.translate(_DASHES).lower().strip()


def write_medcat(kb: KnowledgeBase, file: BinaryIO) -> None:
    """Write a CSV for MedCAT's CDBMaker; the groups stand for the types of a concept without types."""
    columns = ("cui", "name", "ontologies", "name_status", "type_ids", "description")
    _write_csv(file, columns, (row for concept in kb for row in _medcat_rows(concept)), ",")


def _medcat_rows(concept: Concept) -> Iterator[tuple[str, ...]]:
    names, types = _names(concept), "|".join(concept.types or _groups(concept))
    for name in names:
        yield concept.id, name, concept.id.partition(":")[0].upper(), "P" if name == names[0] else "A", types, ""


def _write_csv(file: BinaryIO, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], separator: str) -> None:
    frame = pl.DataFrame(list(rows), schema=dict.fromkeys(columns, pl.String), orient="row")
    quoting: Literal["never", "necessary"] = "never" if separator == "\t" else "necessary"
    frame.write_csv(file, separator=separator, quote_style=quoting)


def write_mrconso(kb: KnowledgeBase, file: BinaryIO) -> None:
    """Write MRCONSO.RRF: CUI, LAT, TS, ISPREF, SAB, TTY, CODE, STR and SUPPRESS; the CUI is the concept id."""
    for concept in kb:
        prefix, _, code = concept.id.partition(":")
        names = _names(concept)
        for name in names:
            status, term_type, preferred = ("P", "PT", "Y") if name == names[0] else ("S", "SY", "N")
            string = name.replace("|", " ")
            line = f"{concept.id}|ENG|{status}||||{preferred}|||||{prefix.upper()}|{term_type}|{code}|{string}|0|N||\n"
            file.write(line.encode())


_GROUP_TYPES = {
    "Anatomy": "T023", "Behavior": "T053", "Cell": "T025", "Cell line": "T025", "Chemical": "T121", "Concept": "T078",
    "Device": "T074", "Disease": "T047", "Gene": "T028", "Person": "T098", "Phenotype": "T184", "Location": "T083",
    "Procedure": "T061", "Process": "T067", "Species": "T204",
}  # fmt: skip
"""A semantic type of UMLS for the concepts of other vocabularies, by semantic group."""


def write_mrsty(kb: KnowledgeBase, file: BinaryIO) -> None:
    """Write MRSTY.RRF: the semantic types of UMLS, or those that stand for the semantic groups."""
    for concept in kb:
        types = [kind for kind in concept.types if re.fullmatch(r"T\d{3}", kind)]
        types = types or [_GROUP_TYPES[group] for group in _groups(concept) or ("Concept",)]
        file.write("".join(f"{concept.id}|{kind}||||\n" for kind in types).encode())


def _names(concept: Concept) -> list[str]:
    """Return the distinct names of a concept without tabs and line breaks, the preferred name first."""
    return list(dict.fromkeys(filter(None, (" ".join(term.form.split()) for term in concept.terms))))


def _groups(concept: Concept) -> list[str]:
    """Return the semantic groups of a concept; if the knowledge base has none, those of its types."""
    return list(concept.groups) or sorted({group for kind in concept.types for group in groups_of_type(kind)})
