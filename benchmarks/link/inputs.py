"""Documents and terms that both versions link, as files that every version reads: PubTator, and a table of names."""

from __future__ import annotations

import gzip
import json
import random
import re
from itertools import islice
from pathlib import Path

from benchmarks.commands.link_speed import abstracts
from benchmarks.report import data_folder
from onym.types import Document

CDR, NCBI = "bc5cdr/CDR_TestSet.PubTator.txt.gz", "ncbi_disease/NCBItestset_corpus.txt"
COLUMN = "name"
_DRUGS, _HPO = "drugs/drug_names.tsv.gz", "ontologies/hp-2026-02-16.obo.gz"
_SEED = 48
_EVERYDAY = "everyday/everyday-a.jsonl"


def write_inputs(folder: Path, count: int, names: int) -> None:
    """Write annotated.pubtator and texts.pubtator with `count` documents each, everyday.pubtator, and names.tsv.

    Annotated documents are four fifths of BC5CDR and one fifth of NCBI disease, from the test splits. Texts are half of these
    documents without mentions, and as many PubMed abstracts.
    """
    annotated = annotated_documents(count)
    _write(folder / "annotated.pubtator", annotated)
    tests = ["\n".join(document.split("\n")[:2]) for document in annotated[::-1][: count // 2]]
    _write(folder / "texts.pubtator", tests + [_abstract(doc) for doc in islice(abstracts(), count - len(tests))])
    _write(folder / "everyday.pubtator", everyday_sentences())
    _write(folder / "names.tsv", [COLUMN, *draw_names(names)], end="\n")


def _write(path: Path, blocks: list[str], end: str = "\n\n") -> None:
    path.write_text("".join(f"{block}{end}" for block in blocks), "utf-8")


def annotated_documents(count: int) -> list[str]:
    """Return PubTator documents with annotated mentions."""
    sizes = {CDR: count - count // 5, NCBI: count // 5}
    documents = [block for path, size in sizes.items() for block in _blocks(path)[:size]]
    if len(documents) != count:
        msg = f"found {len(documents)} annotated documents instead of {count}; set --documents to at most 500"
        raise ValueError(msg)
    return documents


def _blocks(path: str) -> list[str]:
    return re.split(r"\n{2,}", _read(path).strip())


def _read(path: str) -> str:
    data = (data_folder() / path).read_bytes()
    return (gzip.decompress(data) if path.endswith(".gz") else data).decode("utf-8").replace("\r\n", "\n")


def _abstract(document: Document) -> str:
    title, *rest = [" ".join(document.text[part.start : part.end].split()) for part in document.passages]
    return f"{document.id}|t|{title}\n{document.id}|a|{' '.join(rest)}"


def read_texts(count: int) -> list[str]:
    """Return raw texts of BC5CDR: titles and abstracts."""
    return [" ".join(line.split("|", 2)[2] for line in block.split("\n")[:2]) for block in _blocks(CDR)[:count]]


def everyday_sentences() -> list[str]:
    rows = map(json.loads, _read(_EVERYDAY).splitlines())
    return [f"{row['id']}|t|{row['text']}\n{row['id']}|a|" for row in rows]


def draw_names(count: int) -> list[str]:
    """Return names of drugs and of HPO's concepts, half of each, drawn with a fixed seed."""
    drugs = [line.split("\t")[0] for line in _read(_DRUGS).splitlines()[1:]]
    phenotypes = re.findall(r"^name: (.+)$", _read(_HPO), re.MULTILINE)
    draw = random.Random(_SEED)
    return draw.sample(drugs, count - count // 2) + draw.sample(phenotypes, count // 2)
