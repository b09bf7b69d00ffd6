"""HPO's gold standard corpus, GSC+: two files, dev and test, in an archive with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onym.corpora.formats import hpo_gsc
from onym.datasets.base import Reader
from onym.datasets.drops import DropCounts
from onym.datasets.inputs import Inputs, members
from onym.types import Document


def reader(archive: str, files: Mapping[str, str]) -> Reader:
    """Return a reader of an archive's files by split."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, name in files.items():
            for doc in drops.iter_documents(split, hpo_gsc.read(members(inputs.source(archive), "", name))):
                yield split, drops.with_ids(split, doc)

    return read
