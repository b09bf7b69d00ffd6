"""Corpora in PubTator's format, a file for each split, every type of mention kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onym.corpora.draft import raw_id
from onym.corpora.formats import pubtator
from onym.datasets.base import Reader
from onym.datasets.inputs import Inputs
from onym.datasets.tally import Tally
from onym.types import Document

TWICE = "the document stands twice"


def reader(files: Mapping[str, str], *, dev: int = 0) -> Reader:
    """Return a reader of files by split; the last `dev` documents of train are dev where it has no file of its own."""

    def read(inputs: Inputs, tally: Tally) -> Iterator[tuple[str, Document]]:
        for split, path in files.items():
            found = list(pubtator.read(inputs.source(path)))
            count = sum(isinstance(item, Document) for item in found)
            for number, doc in enumerate(tally.documents(split, found)):
                own = "dev" if dev and split == "train" and number >= count - dev else split
                yield own, tally.with_ids(own, doc)

    return read


def once(files: Mapping[str, str]) -> Reader:
    """Return a reader that leaves out what stands twice in a file: in NCBI's training set, PMID 8528200 does."""

    def read(inputs: Inputs, tally: Tally) -> Iterator[tuple[str, Document]]:
        for split, doc in reader(files)(inputs, tally):
            if raw_id(doc) == doc.id:
                yield split, doc
            else:
                tally.drop(split, TWICE, len(doc.mentions))

    return read
