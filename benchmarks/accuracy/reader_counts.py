"""Compare what readers read of genuine releases with what the files themselves have, counted by plain Python.

Each count is a pair: in the file, and read; `unequal` is the number of pairs that differ.

gene_info    genes, and names other than the symbol, of four species
cellosaurus  cell lines and names of the list in JSON
taxonomy     taxa, names, parents and merged ids of a folder with names.dmp, nodes.dmp and merged.dmp; with `--taxonomy`, such
             as usr/share/EMBOSS/data/TAXONOMY of Debian's package emboss-data
icd10cm      codes with sections and chapters, inclusion terms, and parents of the tabular list; with `--icd10cm`, such as the
             file in the Python package simple-icd-10-cm

With `--quick`, one file of genes and the cell lines are compared. The page on formats says which readers are written from the
specification, because no genuine release is at hand.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
from lxml import etree

from benchmarks.report import data_folder
from benchmarks.speed.kb_genes import count_genuine
from onym.kb import readers
from onym.store.files.source import Source
from onym.types import NameKind

UPPER_BOUNDS = {"unequal": 0}
_GENES = ("Drosophila_melanogaster", "Homo_sapiens", "Mus_musculus", "Danio_rerio")
Pairs = dict[str, tuple[int, int]]
"""Counts of a release: in the file, and read."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--taxonomy", type=Path, help="folder with names.dmp, nodes.dmp and merged.dmp")
    parser.add_argument("--icd10cm", type=Path, help="tabular list of ICD-10-CM, XML")


def run(options: argparse.Namespace) -> dict[str, object]:
    data = data_folder()
    found: dict[str, Pairs] = {
        name: count_genuine(data / "genes" / f"{name}.gene_info.gz") for name in _GENES[: 1 if options.quick else None]
    }
    found["cellosaurus"] = count_cell_lines(data / "ontologies" / "CVCL-ontology-55.0.json.zst")
    if options.taxonomy:
        found["taxonomy"] = count_taxa(options.taxonomy)
    if options.icd10cm:
        found["icd10cm"] = count_codes(options.icd10cm)
    return {**found, "unequal": sum(own != read for pairs in found.values() for own, read in pairs.values())}


def _read(path: Path, form: str) -> Iterator[pl.DataFrame]:
    return (pl.DataFrame(batch) for batch in readers.read(Source.open(path), form))


def count_cell_lines(path: Path) -> Pairs:
    rows = json.loads(pa.input_stream(str(path), compression="zstd").read())
    own = len(rows), sum(bool(row["label"]) for row in rows.values())
    ids, names = set[str](), 0
    for frame in _read(path, "ontology_json"):
        ids.update(frame["concept_id"].to_list())
        names += frame["name"].drop_nulls().len()
    return {"cell_lines": (own[0], len(ids)), "names": (own[1], names)}


def count_taxa(folder: Path) -> Pairs:
    names = _dump_rows(folder / "names.dmp")
    taxa, name_count = set[str](), 0
    for fields in names:
        taxa.add(fields[0])
        name_count += 1
    parents = sum(fields[0] != fields[1] for fields in _dump_rows(folder / "nodes.dmp"))
    merged = sum(1 for _ in _dump_rows(folder / "merged.dmp"))
    ids, read_names, read_parents, read_merged = set[str](), 0, 0, 0
    for frame in _read(folder, "taxdump"):
        named = frame.filter(pl.col("name").is_not_null())
        ids.update(named["concept_id"].to_list())
        read_names += named.height
        read_parents += frame["parents"].drop_nulls().len()
        read_merged += frame.filter(pl.col("kind") == int(NameKind.RETIRED)).height
    return {
        "taxa": (len(taxa), len(ids)),
        "names": (name_count, read_names),
        "parents": (parents, read_parents),
        "merged": (merged, read_merged),
    }


def _dump_rows(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.removesuffix("\n").removesuffix("\t|").split("\t|\t")


def count_codes(path: Path) -> Pairs:
    root = etree.parse(path).getroot()
    codes = {each.findtext("name") for each in root.iter("diag")} | {each.get("id") for each in root.iter("section")}
    terms = sum(len(each.findall("note")) for each in root.iter("inclusionTerm"))
    ids, children, names = set[str](), set[str](), 0
    for frame in _read(path, "icd10cm"):
        ids.update(frame["concept_id"].to_list())
        children.update(frame.filter(pl.col("parents").is_not_null())["concept_id"].to_list())
        names += frame.filter(pl.col("kind") != int(NameKind.PREFERRED)).height
    chapters = len(root.findall("chapter"))
    return {
        "codes": (len(codes) + chapters, len(ids)),
        "inclusion_terms": (terms, names),
        "children": (len(codes), len(children)),
    }
