"""Documents to learn from or fit to: the splits of datasets, without documents that others of them are tested on.

Corpora share documents: a text that one has in train, another may have in test. A document is left out if a held-out document
has its id, its text, or one of its longer passages, whatever the letters' case, the spaces and the punctuation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from onym.datasets.overlap import corpus_document
from onym.datasets.prepared import PreparedDataset
from onym.errors import ConfigError
from onym.types import Document

EVALUATION_SPLITS = ("dev", "test")
NOT_SHIPPED = (
    "askapatient",
    "bc5cdr-disease-biosyn",
    "cometa",
    "hpo-gsc",
    "medmentions",
    "ncbi-disease-biosyn",
    "ncbi-disease-genbioel",
)
"""How the names of datasets begin whose annotations may not be passed on, or whose train split holds its dev split."""
_MIN_PASSAGE = 200  # letters and digits: shorter passages may be headings that many documents have
_TEST = "test"


@dataclass(frozen=True, slots=True)
class TrainingCorpus:
    """The documents of one dataset that may be learnt from, and how many were left out, by reason.

    `overlap` says what its dev and test splits have of its train split.
    """

    name: str
    digest: str
    licence: str
    documents: tuple[Document, ...]
    left_out: dict[str, int]
    overlap: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return what an artefact that was made of it says about it."""
        return {
            "name": self.name,
            "digest": self.digest,
            "licence": self.licence,
            "documents": len(self.documents),
            "left_out": self.left_out,
            "overlap": self.overlap,
        }


def training_corpora(datasets: Sequence[PreparedDataset], exclude: Iterable[PreparedDataset] = ()) -> list[TrainingCorpus]:
    """Return the train split of each dataset without the documents of any dev or test split, also those of `exclude`.

    >>> def dataset(name, **splits):
    ...     folder = getfixture("tmp_path") / name
    ...     return type("Of", (), {"name": name, "digest": "", "report": {"licence": "CC0"}, "splits": tuple(splits),
    ...                            "documents": lambda self, split: iter(splits[split])})()
    >>> one = dataset("one", train=[Document("1", "Fever."), Document("2", "Cough.")], test=[])
    >>> other = dataset("other", train=[Document("3", "Pain.")], test=[Document("9", "fever")])
    >>> [([doc.id for doc in corpus.documents], corpus.left_out) for corpus in training_corpora([one, other])]
    [(['2'], {'same id': 0, 'same text': 1}), (['3'], {'same id': 0, 'same text': 0})]
    """
    known = EvaluationDocuments.of([*datasets, *exclude])
    return [_corpus(dataset, known) for dataset in datasets]


@dataclass(frozen=True, slots=True)
class EvaluationDocuments:
    """The documents of dev and test splits, by id and by text."""

    ids: frozenset[str]
    texts: frozenset[str]

    @classmethod
    def of(cls, datasets: Iterable[PreparedDataset], splits: Sequence[str] = EVALUATION_SPLITS) -> EvaluationDocuments:
        """Read the dev and test splits of datasets, or other ones."""
        documents = [
            doc for dataset in datasets for split in splits if split in dataset.splits for doc in dataset.documents(split)
        ]
        texts = (text for doc in documents for text in _texts(doc))
        return cls(frozenset(map(corpus_document, documents)), frozenset(texts))

    def reason(self, doc: Document) -> str:
        """Return why a document may not be learnt from; nothing if it may."""
        if corpus_document(doc) in self.ids:
            return "same id"
        return "same text" if not self.texts.isdisjoint(_texts(doc)) else ""


def require_shippable(names: Collection[str]) -> None:
    """Refuse datasets whose annotations may not be part of an artefact that is passed on.

    >>> require_shippable(["bc5cdr", "hpo-gsc"])
    Traceback (most recent call last):
    onym.errors.ConfigError: [dataset-not-shippable] what is learnt from hpo-gsc may not be passed on...
    """
    if refused := sorted(name for name in names if name.startswith(NOT_SHIPPED)):
        what = f"what is learnt from {refused[0]} may not be passed on, or its dev split is part of its train split"
        fix = "leave it out, or add data.private = true and keep the result to yourself"
        raise ConfigError("dataset-not-shippable", what, fix=fix)


def _corpus(dataset: PreparedDataset, known: EvaluationDocuments) -> TrainingCorpus:
    left_out, kept = {"same id": 0, "same text": 0}, []
    for doc in dataset.documents("train"):
        if reason := known.reason(doc):
            left_out[reason] += 1
        else:
            kept.append(doc)
    overlap = dataset.report.get("overlap", {})
    return TrainingCorpus(dataset.name, dataset.digest, str(dataset.report["licence"]), tuple(kept), left_out, overlap)


def _texts(doc: Document) -> Iterator[str]:
    """Yield the letters and digits of a document, and those of each longer passage of it."""
    yield _letters(doc.text)
    for passage in doc.passages:
        letters = _letters(doc.text[passage.start : passage.end])
        if len(letters) >= _MIN_PASSAGE:
            yield letters


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def pool_documents(datasets: Sequence[PreparedDataset], split: str) -> list[list[Document]]:
    """Return the documents of a split of each dataset that no earlier one has, and no other one has in its test split.

    >>> def dataset(**splits):
    ...     return type("Of", (), {"splits": tuple(splits), "documents": lambda self, split: iter(splits[split])})()
    >>> one = dataset(dev=[Document("1", "Fever."), Document("2", "Cough.")], test=[])
    >>> other = dataset(dev=[Document("1", "Fever."), Document("3", "Pain.")], test=[Document("9", "cough")])
    >>> [[doc.id for doc in documents] for documents in pool_documents([one, other], "dev")]
    [['1'], ['3']]
    """
    return [_own_documents(dataset, split, datasets[:row], datasets[row + 1 :]) for row, dataset in enumerate(datasets)]


def _own_documents(
    dataset: PreparedDataset, split: str, earlier: Sequence[PreparedDataset], later: Sequence[PreparedDataset]
) -> list[Document]:
    elsewhere = (EvaluationDocuments.of(earlier, [split]), EvaluationDocuments.of([*earlier, *later], [_TEST]))
    return [doc for doc in dataset.documents(split) if not any(each.reason(doc) for each in elsewhere)]
