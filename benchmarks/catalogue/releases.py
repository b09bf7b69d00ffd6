"""The releases of the catalogue, of real data in the form of their publishers, under the paths of their addresses.

hp.obo      is the genuine file.
mondo-base  has the terms, names, definitions and cross-references of the starter's knowledge base: MONDO 2026-05-05.
desc, supp  have the records of MeSH 2024 (tables) and the entry terms of 2014, in NLM's XML.
META        is in UMLS's form what `desc` has of diseases, with made CUIs. Nothing in it is UMLS content.
encoder     has the weights of all-MiniLM-L6-v2, for SapBERT's are not on the machines that run the tests.
"""

from __future__ import annotations

import gzip
import io
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape

import polars as pl

from benchmarks.models import model_folder
from onym.kb import KnowledgeBase, readers
from onym.packs.locate import STARTER, pack_folder
from onym.packs.recipe import PipelineRecipe
from onym.store.files.source import Source
from onym.types import NameKind

_DISEASES = "C"
_FEW = 1_000  # diseases of the synthetic release: their names are embedded on a CPU


def write_releases(recipe: PipelineRecipe, folder: Path, data: Path) -> None:
    """Write all files of a recipe that are not there yet."""
    for release in recipe.releases:
        for file in release.files:
            path = folder / path_of(file.url)
            if not path.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                new = path.with_name(f"{path.name}.new")
                _WRITERS[file.name](new, data)
                new.rename(path)
    for model in recipe.models:
        for file in model.remote_files():
            path = folder / path_of(file.url)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(model_folder("minilm") / file.name, path)


def path_of(url: str) -> str:
    """Return the path of an address, without its first slash.

    >>> path_of("https://example.org/obo/hp.obo")
    'obo/hp.obo'
    """
    return url.partition("://")[2].partition("/")[2]


def _write_hp(path: Path, data: Path) -> None:
    with gzip.open(data / "ontologies" / "hp-2026-02-16.obo.gz") as source, path.open("wb") as file:
        shutil.copyfileobj(source, file)


def _write_mondo(path: Path, _data: Path) -> None:
    kb = KnowledgeBase.open(pack_folder(STARTER) / "knowledge-base")
    with path.open("w", encoding="utf-8") as file:
        file.write("format-version: 1.2\ndata-version: releases/2026-05-05\nontology: mondo\n")
        for row in range(len(kb)):
            concept = kb.concept(row)
            file.write(f"\n[Term]\nid: {concept.id.upper()}\nname: {concept.preferred_name}\n")
            file.writelines(f'def: "{_quoted(text)}" []\n' for text in concept.definitions)
            file.writelines(f'synonym: "{_quoted(term.form)}" EXACT []\n' for term in concept.terms[1:])
            file.writelines(f"xref: {xref.upper()}\n" for xref in concept.xrefs)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


@dataclass
class Record:
    """A record of MeSH: its names, the preferred one first, its branches, and the headings that it is mapped to."""

    names: list[str] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    mapped: list[str] = field(default_factory=list)


def mesh_records(data: Path, *tables: str) -> dict[str, Record]:
    """Return the records of some tables of MeSH, and the entry terms of 2014 for those."""
    found: dict[str, Record] = defaultdict(Record)
    for table in (*tables, "d2014.en_gb.bin.gz"):
        source = Source.open(data / "mesh" / table)
        for batch in readers.read(source, readers.detect(source)):
            _add(found, pl.DataFrame(batch), is_first=table in tables)
    return {ui: record for ui, record in sorted(found.items()) if record.names}


def _add(found: dict[str, Record], frame: pl.DataFrame, *, is_first: bool) -> None:
    for row in frame.iter_rows(named=True):
        ui = row["concept_id"].removeprefix("mesh:")
        if not is_first and ui not in found:
            continue
        record = found[ui]
        if row["name"]:
            where = 0 if is_first and row["kind"] == int(NameKind.PREFERRED) else len(record.names)
            record.names.insert(where, row["name"])
        record.branches += row["semantic_types"] or () if is_first else ()
        record.mapped += (each.removeprefix("mesh:") for each in row["broader"] or ())


@contextmanager
def _compressed(path: Path) -> Iterator[TextIO]:
    """Give a file to write text to, which is compressed: the same bytes each time, without a name or a date."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", 1, raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as file,
    ):
        yield file


def _write_descriptors(path: Path, data: Path) -> None:
    records = mesh_records(data, "mesh_id_label_mappings.tsv.gz")
    with _compressed(path) as file:
        file.write('<?xml version="1.0"?>\n<DescriptorRecordSet LanguageCode = "eng">\n')
        for ui, record in records.items():
            trees = "".join(f"<TreeNumber>{branch}</TreeNumber>" for branch in record.branches)
            file.write(
                f'<DescriptorRecord DescriptorClass = "1"><DescriptorUI>{ui}</DescriptorUI>'
                f"<TreeNumberList>{trees}</TreeNumberList>{_concepts(record)}</DescriptorRecord>\n"
            )
        file.write("</DescriptorRecordSet>\n")


def _write_supplement(path: Path, data: Path) -> None:
    headings = mesh_records(data, "mesh_id_label_mappings.tsv.gz")
    records = mesh_records(data, "mesh_supp_id_label_mappings.tsv.gz")
    with _compressed(path) as file:
        file.write('<?xml version="1.0"?>\n<SupplementalRecordSet LanguageCode = "eng">\n')
        for ui, record in records.items():
            branches = [branch for each in record.mapped if each in headings for branch in headings[each].branches]
            kind = 3 if any(branch.startswith(_DISEASES) for branch in branches) else 1
            mapped = "".join(
                f"<HeadingMappedTo><DescriptorReferredTo><DescriptorUI>*{each}</DescriptorUI></DescriptorReferredTo></HeadingMappedTo>"
                for each in record.mapped
            )
            file.write(
                f'<SupplementalRecord SCRClass = "{kind}"><SupplementalRecordUI>{ui}</SupplementalRecordUI>'
                f"<HeadingMappedToList>{mapped}</HeadingMappedToList>{_concepts(record)}</SupplementalRecord>\n"
            )
        file.write("</SupplementalRecordSet>\n")


def _concepts(record: Record) -> str:
    names = dict.fromkeys(record.names)
    terms = "".join(
        f'<Term RecordPreferredTermYN="{"N" if number else "Y"}"><String>{escape(name)}</String></Term>'
        for number, name in enumerate(names)
    )
    return f"<ConceptList><Concept><TermList>{terms}</TermList></Concept></ConceptList>"


def write_umls(folder: Path, data: Path) -> None:
    """Write a small release in UMLS's form: diseases of MeSH with CUIs of their own."""
    records = mesh_records(data, "mesh_id_label_mappings.tsv.gz").values()
    folder.mkdir(parents=True, exist_ok=True)
    diseases = [each for each in records if any(branch.startswith(_DISEASES) for branch in each.branches)][:_FEW]
    with (folder / "MRCONSO.RRF").open("w", encoding="utf-8") as file:
        file.writelines(line for number, record in enumerate(diseases, 1) for line in _atoms(number, record))
    with (folder / "MRSTY.RRF").open("w", encoding="utf-8") as file:
        file.writelines(f"C{n:07d}|T047|B2.2.1.2.1|Disease or Syndrome|AT{n}|256|\n" for n in range(1, len(diseases) + 1))


def _atoms(number: int, record: Record) -> Iterator[str]:
    for index, name in enumerate(dict.fromkeys(record.names)):
        atom, first = f"A{number}{index:03d}", "Y" if index == 0 else "N"
        term = "MH" if index == 0 else "ET"
        text = name.replace("|", " ")
        yield f"C{number:07d}|ENG|P|L{atom}|PF|S{atom}|{first}|{atom}||||MSH|{term}|D{number}|{text}|0|N|256|\n"


_WRITERS = {
    "hp.obo": _write_hp,
    "mondo-base.obo": _write_mondo,
    "desc2026.gz": _write_descriptors,
    "supp2026.gz": _write_supplement,
}
