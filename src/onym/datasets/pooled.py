"""A split of several datasets together: each document once, and none that another of them tests with.

Corpora share documents. What is fitted to the dev splits of several must not have seen a text that one of them has in test.
"""

from __future__ import annotations

from collections.abc import Sequence

from onym.datasets.prepared import PreparedDataset
from onym.datasets.training import EvaluationDocuments
from onym.types import Document

_TEST = "test"


def pooled_documents(datasets: Sequence[PreparedDataset], split: str) -> list[list[Document]]:
    """Return the documents of a split of each dataset that no earlier one has, and no other one has in its test split.

    >>> def dataset(**splits):
    ...     return type("Of", (), {"splits": tuple(splits), "documents": lambda self, split: iter(splits[split])})()
    >>> one = dataset(dev=[Document("1", "Fever."), Document("2", "Cough.")], test=[])
    >>> other = dataset(dev=[Document("1", "Fever."), Document("3", "Pain.")], test=[Document("9", "cough")])
    >>> [[doc.id for doc in documents] for documents in pooled_documents([one, other], "dev")]
    [['1'], ['3']]
    """
    return [_own(dataset, split, datasets[:row], datasets[row + 1 :]) for row, dataset in enumerate(datasets)]


def _own(
    dataset: PreparedDataset, split: str, earlier: Sequence[PreparedDataset], later: Sequence[PreparedDataset]
) -> list[Document]:
    elsewhere = (EvaluationDocuments.of(earlier, [split]), EvaluationDocuments.of([*earlier, *later], [_TEST]))
    return [doc for doc in dataset.documents(split) if not any(each.reason(doc) for each in elsewhere)]
