"""Corpora in PubTator's format, a file for each split, every type of mention kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onym.corpora.formats import pubtator
from onym.datasets.base import Reader
from onym.datasets.drops import DropCounts
from onym.datasets.inputs import Inputs
from onym.types import Document

DUPLICATE = "duplicate document"


def reader(files: Mapping[str, str], *, dev: int = 0) -> Reader:
    """Return a reader of files by split; the last `dev` documents of train are dev where it has no file of its own."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, path in files.items():
            found = list(pubtator.read(inputs.source(path)))
            count = sum(isinstance(item, Document) for item in found)
            for number, doc in enumerate(drops.iter_documents(split, found)):
                own = "dev" if dev and split == "train" and number >= count - dev else split
                yield own, drops.with_ids(own, doc)

    return read


def without_duplicates(files: Mapping[str, str]) -> Reader:
    """Return a reader that drops duplicate documents of a file: NCBI's training set has PMID 8528200 twice."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        seen: set[tuple[str, str]] = set()
        for split, doc in reader(files)(inputs, drops):
            if (split, doc.id) in seen:
                drops.drop(split, DUPLICATE, len(doc.mentions))
            else:
                seen.add((split, doc.id))
                yield split, doc

    return read
