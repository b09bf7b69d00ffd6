"""Selects training and calibration documents from several datasets, without documents that any of them holds out.

Corpora share documents: the same abstract may be in train of one corpus and in test of another. A document is left out if a
held-out document has the same id, the same text, or a long passage in common (ignoring case, spaces and punctuation).
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
"""Name prefixes of datasets whose annotations may not be redistributed, or whose train split contains the dev split."""
_MIN_PASSAGE = 200  # minimum letters and digits of a compared passage; shorter ones may be headings that many documents share
_TEST = "test"


@dataclass(frozen=True, slots=True)
class TrainingCorpus:
    """The training documents of one dataset, and the number of documents left out, by reason.

    `overlap` is the dataset's own overlap report: dev and test mentions that are also in train.
    """

    name: str
    digest: str
    licence: str
    documents: tuple[Document, ...]
    left_out: dict[str, int]
    overlap: dict[str, Any] = field(default_factory=dict)

    def describe(self) -> str:
        """Return the numbers of documents in words.

        >>> TrainingCorpus("mine", "", "", (), {"same id": 2, "same text": 1}).describe()
        'mine: 0 training documents; 3 more are in a dev or test split, and left out'
        """
        left_out = sum(self.left_out.values())
        rest = f"; {left_out:,} more are in a dev or test split, and left out" if left_out else ""
        return f"{self.name}: {len(self.documents):,} training documents{rest}"

    def as_dict(self) -> dict[str, Any]:
        """Return the entry for this corpus in the training record of a model."""
        return {
            "name": self.name,
            "digest": self.digest,
            "licence": self.licence,
            "documents": len(self.documents),
            "left_out": self.left_out,
            "overlap": self.overlap,
        }


def training_corpora(datasets: Sequence[PreparedDataset], exclude: Iterable[PreparedDataset] = ()) -> list[TrainingCorpus]:
    """Return the train split of each dataset, without documents in any dev or test split of `datasets` or `exclude`.

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
    """Ids and normalised texts of the documents in evaluation splits."""

    ids: frozenset[str]
    texts: frozenset[str]

    @classmethod
    def of(cls, datasets: Iterable[PreparedDataset], splits: Sequence[str] = EVALUATION_SPLITS) -> EvaluationDocuments:
        """Collect the ids and texts of the given splits of the datasets."""
        documents = [
            doc for dataset in datasets for split in splits if split in dataset.splits for doc in dataset.documents(split)
        ]
        texts = (text for doc in documents for text in _texts(doc))
        return cls(frozenset(map(corpus_document, documents)), frozenset(texts))

    def reason(self, doc: Document) -> str:
        """Return why a document must be left out of training, or "" if it may be used."""
        if corpus_document(doc) in self.ids:
            return "same id"
        return "same text" if not self.texts.isdisjoint(_texts(doc)) else ""


def require_shippable(names: Collection[str]) -> None:
    """Raise ConfigError if a model trained on one of these datasets may not be redistributed.

    >>> require_shippable(["bc5cdr", "hpo-gsc"])
    Traceback (most recent call last):
    onym.errors.ConfigError: [dataset-not-shippable] a model trained on hpo-gsc may not be redistributed...
    """
    if refused := sorted(name for name in names if name.startswith(NOT_SHIPPED)):
        what = f"a model trained on {refused[0]} may not be redistributed, or its train split contains its dev split"
        fix = "drop this dataset, or set data.private = true and do not share the result"
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
    """Yield the text of a document and the text of each long passage, reduced to letters and digits."""
    yield _letters(doc.text)
    for passage in doc.passages:
        letters = _letters(doc.text[passage.start : passage.end])
        if len(letters) >= _MIN_PASSAGE:
            yield letters


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def pool_documents(datasets: Sequence[PreparedDataset], split: str) -> list[list[Document]]:
    """Return one split of each dataset. Shared documents are kept once; those in another dataset's test are left out.

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
