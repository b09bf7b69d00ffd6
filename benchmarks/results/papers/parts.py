"""A training set in parts, each with a dictionary that does not have the part's own mentions among its names.

The papers' dictionaries for testing have the training mentions among their names. Over such a dictionary every training mention
would be an exact match, and trees would learn to believe nothing else. So each part is linked to what the other parts give.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.report import data_folder
from benchmarks.results.papers.rows import open_papers_task
from benchmarks.results.tasks import (
    GENBIOEL,
    askapatient_kb,
    askapatient_rows,
    dictionary_kb,
    medic_kb,
)
from onym.datasets import PreparedDataset
from onym.datasets.overlap import corpus_document
from onym.datasets.prepared import open_dataset
from onym.datasets.training import training_corpora
from onym.kb import KnowledgeBase
from onym.text.normal import normal_name
from onym.types import Document

PARTS = 5
_SEED = 0


@dataclass(frozen=True, slots=True)
class Part:
    """Documents to learn from, those that their memory is made of, and the knowledge base that they are linked to."""

    documents: Sequence[Document]
    others: Sequence[Document]
    kb: KnowledgeBase


def training_documents(key: str, dataset: PreparedDataset) -> Sequence[Document]:
    """Return the training documents; none that is also in dev or test, by id or by text.

    Those of AskAPatient are phrases, not documents, and stay: what the papers call its train split.
    """
    if key.startswith("askapatient"):
        return list(dataset.documents("train"))
    return training_corpora([dataset])[0].documents


def parts_of(key: str, documents: Sequence[Document]) -> Iterator[Part]:
    """Yield the parts of a training set; all that was made of one published document is in one part."""
    sources = sorted({corpus_document(doc) for doc in documents})
    random.Random(_SEED).shuffle(sources)
    part_of = {source: number % PARTS for number, source in enumerate(sources)}
    for number in range(PARTS):
        own = [doc for doc in documents if part_of[corpus_document(doc)] == number]
        others = [doc for doc in documents if part_of[corpus_document(doc)] != number]
        yield Part(own, others, _kb(key, number, own, others))


def _kb(key: str, number: int, own: Sequence[Document], others: Sequence[Document]) -> KnowledgeBase:
    """Return the dictionary of a part, built once and kept."""
    suffix = f"-part{number}of{PARTS}"
    if key == "ncbi_disease":
        medic = medic_kb().names
        gone = {name for name in _surfaces(own) - _surfaces(others) if medic.find(name) < 0}
        return dictionary_kb(GENBIOEL, "dev", suffix, lambda lines: [line for line in lines if _name(line) not in gone])
    if key.startswith("askapatient"):
        fold, held_out = int(key.removeprefix("askapatient_fold")), {doc.id for doc in own}
        return askapatient_kb(f"{key.replace('_', '-')}{suffix}", askapatient_rows(fold, lambda doc: doc.id not in held_out))
    return open_papers_task(key, "dev").kb


def _surfaces(documents: Sequence[Document]) -> set[str]:
    return {normal_name(mention.surface) for doc in documents for mention in doc.mentions}


def _name(line: str) -> str:
    return normal_name(line.partition("||")[2])


def open_papers_dataset(key: str) -> PreparedDataset:
    """Open the dataset that a row is learnt from and judged on."""
    name = {"ncbi_disease": GENBIOEL, "bc5cdr": "bc5cdr"}.get(key, key.replace("_", "-"))
    return open_dataset(name, data_folder())
