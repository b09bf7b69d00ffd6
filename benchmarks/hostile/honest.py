"""Small honest files, one for each door."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.hostile.archives import ROW
from benchmarks.hostile.artefacts import built
from onym.corpora.corpus import write_corpus
from onym.types import Document, Mention

_FILES = {
    "MRCONSO.RRF": ROW * 1000,
    "table.csv": b"id,name\nD005334,fever\n",
    "hp.obo": b"format-version: 1.2\n\n[Term]\nid: HP:1\nname: Fever\n",
    "d2024.bin": b"*NEWRECORD\nRECTYPE = D\nMH = Fever\nUI = D005334\n",
    "dictionary.txt": b"D005334||fever\n",
    "ontology.json": b'[{"id": "MONDO:1", "name": "Fever", "synonyms": []}]',
    "entities.jsonl": b'{"concept_id": "C1", "canonical_name": "Fever", "aliases": []}\n',
    "desc.xml": b"<DescriptorRecordSet><DescriptorRecord/></DescriptorRecordSet>",
}


def honest(folder: Path) -> Iterator[Path]:
    """Write releases and a knowledge base into a folder, and yield their paths."""
    for name, content in _FILES.items():
        (folder / name).write_bytes(content)
        yield folder / name
    yield built(folder)[0]


def honest_corpora(folder: Path) -> Iterator[tuple[Path, str]]:
    """Write a corpus for each door into a folder, and yield their paths and formats."""
    documents = [Document("1", "high fever", (Mention(5, 10, "fever", ("mesh:D005334",)),))]
    folder.mkdir()
    for name in ("jsonl", "bioc_json", "bioc_xml", "parquet", "docbin", "cometa", "brat"):
        write_corpus(documents, folder / name, name)
        yield folder / name, name
