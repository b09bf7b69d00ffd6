"""COMETA: a table for each split, every row a document with one mention; the concept is the general one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onym.corpora.formats import cometa
from onym.datasets.base import Reader
from onym.datasets.drops import DropCounts
from onym.datasets.inputs import Inputs
from onym.types import Document


def reader(files: Mapping[str, str]) -> Reader:
    """Return a reader of tables by split."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, path in files.items():
            for doc in drops.iter_documents(split, cometa.read(inputs.source(path))):
                if (kept := drops.with_ids(split, doc)).mentions:
                    yield split, kept

    return read
