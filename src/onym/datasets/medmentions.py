"""MedMentions: one PubTator file for all splits, and a list of PMIDs for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onym.corpora.formats import pubtator
from onym.corpora.formats._files import iter_lines
from onym.datasets.base import SPLITS, Reader
from onym.datasets.drops import DropCounts
from onym.datasets.inputs import Inputs
from onym.types import Document, Problem

NO_SPLIT = "the document is in no list"


def reader(corpus: str, lists: Mapping[str, str]) -> Reader:
    """Return a reader of the corpus; `lists` names the file of PMIDs of each split."""

    def read(inputs: Inputs, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        split_of = {pmid: split for split, path in lists.items() for pmid in _pmids(inputs, path)}
        documents: dict[str, list[Document]] = {split: [] for split in SPLITS}
        for item in pubtator.read(inputs.source(corpus)):
            split = split_of.get(item.document_id if isinstance(item, Problem) else item.id, "")
            for doc in drops.iter_documents(split or SPLITS[0], [item]):
                if split:
                    documents[split].append(drops.with_ids(split, doc))
                else:
                    drops.drop(SPLITS[0], NO_SPLIT, len(doc.mentions))
        for split, found in documents.items():
            yield from ((split, doc) for doc in found)

    return read


def _pmids(inputs: Inputs, path: str) -> list[str]:
    return [line.text.strip() for file in inputs.source(path).files for line in iter_lines(file) if line.text.strip()]
