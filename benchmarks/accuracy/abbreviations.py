"""Compare the abbreviation F1 of Onym with plain Schwartz-Hearst, on four gold sets. A pair counts once per document."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import data_folder
from onym.store.files.source import Source
from onym.store.files.xml import iter_records
from onym.text.abbreviations import Abbreviation, find_abbreviations, plain_schwartz_hearst

if TYPE_CHECKING:
    from onym.store.files.xml import Element

SETS = {"ab3p": "Ab3P-BioC", "bioadi": "BioADI-BioC", "medstract": "MEDSTRACT", "sh": "SH-BioC"}
FINDERS: dict[str, Callable[[str], list[Abbreviation]]] = {"": find_abbreviations, "_plain": plain_schwartz_hearst}

Pairs = set[tuple[str, str]]


@dataclass(frozen=True)
class Gold:
    """A document and its annotated (short form, long form) pairs."""

    text: str
    pairs: Pairs


def run(_options: argparse.Namespace) -> dict[str, object]:
    folder = data_folder() / "abbreviations"
    gold = {name: list(iter_gold(folder / f"{archive}.tar.gz")) for name, archive in SETS.items()}
    return {f"{name}_f1{suffix}": f1(docs, find) for suffix, find in FINDERS.items() for name, docs in gold.items()}


def iter_gold(archive: Path) -> Iterator[Gold]:
    """Yield the documents of a BioC gold set; passages are joined by newlines."""
    for record in iter_records(Source.open(archive).require("*_gold.xml"), frozenset({"document"})):
        pairs: Pairs = set()
        texts = []
        for passage in record.iter("passage"):
            texts.append(passage.findtext("text") or "")
            pairs |= _pairs(passage)
        yield Gold("\n".join(texts), pairs)


def _pairs(passage: Element) -> Pairs:
    surfaces = {note.get("id"): note.findtext("text") or "" for note in passage.iter("annotation")}
    pairs: Pairs = set()
    for relation in passage.iter("relation"):
        forms = {str(node.get("role")).lower()[:1]: surfaces[node.get("refid")] for node in relation.iter("node")}
        if forms.get("s") and forms.get("l"):
            pairs.add((forms["s"], forms["l"]))
    return pairs


def f1(docs: list[Gold], find: Callable[[str], list[Abbreviation]]) -> float:
    """Return F1 over the distinct pairs of each document, to three decimals."""
    right = found = wanted = 0
    for doc in docs:
        pairs = {(one.short, one.long) for one in find(doc.text)}
        right += len(pairs & doc.pairs)
        found += len(pairs)
        wanted += len(doc.pairs)
    return round(2 * right / (found + wanted), 3)
