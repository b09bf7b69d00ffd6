"""Candidates and features of the reranker for cross-validated training, with a cached encoder and kernel ridge regression."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.models import model_folder
from benchmarks.report import data_folder
from benchmarks.results.papers.rows import open_papers_task
from benchmarks.results.tasks import GENBIOEL, askapatient_kb, askapatient_rows, dictionary_kb, medic_kb
from onym.datasets import PreparedDataset
from onym.datasets.overlap import corpus_document
from onym.datasets.prepared import open_dataset
from onym.datasets.training import training_corpora
from onym.evaluate.cases import ConceptResolver
from onym.kb import KnowledgeBase
from onym.methods.dense.index.build import index_in_memory
from onym.methods.dense.linker import DenseLinker
from onym.methods.reranker.features import NAMES, FeatureMaker
from onym.methods.reranker.linker import RerankParts, open_parts
from onym.methods.reranker.pool import Pool, Pooling
from onym.methods.trees.memory import KbMemory, Memory, count_mentions
from onym.methods.trees.trees import Floats, Ints
from onym.models.encoder import Vectors
from onym.models.torch_encoder import Encoder
from onym.parts import OpenContext
from onym.store.cache import cache_folder
from onym.text.normal import normal_name
from onym.text.queries import queries_of
from onym.types import Document, Mention

MODEL = "minilm"


class RememberingEncoder:
    """An encoder that caches vectors by text; `keep` saves the cache to disk for the next run."""

    def __init__(self, encoder: Encoder, path: Path) -> None:
        self._encoder, self._path = encoder, path
        self.width, self.precision = encoder.width, encoder.precision
        self._rows: dict[str, int] = {}
        self._vectors = np.zeros((0, encoder.width), dtype=np.float32)
        if path.is_file():
            with np.load(path, allow_pickle=False) as kept:
                self._rows = {text: row for row, text in enumerate(kept["texts"].tolist())}
                self._vectors = kept["vectors"]

    @classmethod
    def open(cls, name: str = MODEL) -> RememberingEncoder:
        """Open an encoder; it is downloaded on first use."""
        encoder = Encoder.open(model_folder(name))
        return cls(encoder, cache_folder() / "benchmarks" / f"vectors-{encoder.digest}.npz")

    @property
    def digest(self) -> str:
        """Identifier of the vectors."""
        return self._encoder.digest

    @property
    def config(self) -> dict[str, Any]:
        """Settings that the vectors depend on."""
        return self._encoder.config

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts. *Shape:* (texts, dim)."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._rows]:
            rows = range(len(self._rows), len(self._rows) + len(new))
            self._rows |= dict(zip(new, rows, strict=True))
            self._vectors = np.concatenate((self._vectors, self._encoder.encode(new)))
        return self._vectors[np.array([self._rows[text] for text in texts], dtype=np.int64)]

    def keep(self) -> None:
        """Save all vectors to disk."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(self._path, texts=np.array(list(self._rows)), vectors=self._vectors)


# Kernel ridge regression that predicts a concept from a surface. It is fitted on the surfaces of a memory (training mentions).

COLUMNS = ("regressed", "regressed_margin", "regressed_rank", "regressed_best")
"""Score of the concept, its difference from the best score, number of concepts with a higher score, and the best score."""
_WIDTH = 4.0
_RIDGE = 0.3  # regularisation of a surface seen once; smaller for frequent surfaces
_BEGINNING = 5  # words are compared by their first 5 letters


class TextEncoder(Protocol):
    """An encoder that returns unit vectors."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts."""


class Kernel:
    """Similarity of texts to a fixed list of names."""

    def __init__(self, names: Sequence[str], encoder: TextEncoder) -> None:
        self._encoder, self._vectors = encoder, encoder.encode(names)
        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
        words = TfidfVectorizer(preprocessor=_beginnings, token_pattern=r"\S+", sublinear_tf=True)
        self._tfidf = [(each, each.fit_transform(names)) for each in (letters, words)]

    def between(self, texts: Sequence[str]) -> Floats:
        """Return the similarity of each text to each name. *Shape:* (texts, names)."""
        found = np.exp(_WIDTH * (self._encoder.encode(texts).astype(np.float64) @ self._vectors.T - 1))
        for vectorizer, rows in self._tfidf:
            found += (vectorizer.transform(texts) @ rows.T).toarray()
        return np.asarray(found / (1 + len(self._tfidf)), dtype=np.float64)


class Regression:
    """Kernel ridge regression that scores the concepts of a memory (training mentions) for any text."""

    def __init__(self, counts: Counter[tuple[str, int]], encoder: TextEncoder) -> None:
        names, concepts = sorted({name for name, _ in counts}), sorted({concept for _, concept in counts})
        rows, self._columns = {name: row for row, name in enumerate(names)}, {each: at for at, each in enumerate(concepts)}
        shares = np.zeros((len(names), len(concepts)))
        for (name, concept), count in counts.items():
            shares[rows[name], self._columns[concept]] += count
        totals = shares.sum(axis=1)
        self._kernel = Kernel(names, encoder)
        kernel = self._kernel.between(names) + np.diag(_RIDGE / np.sqrt(totals))
        right = (shares / totals[:, None]).astype(np.float32)
        self._weights = solve(kernel.astype(np.float32), right, assume_a="pos", overwrite_a=True, overwrite_b=True)

    @classmethod
    def of(cls, memory: KbMemory, kb: KnowledgeBase, encoder: TextEncoder) -> Regression:
        """Fit the regression on a memory and on the preferred names of its concepts."""
        counts: Counter[tuple[str, int]] = Counter()
        for row in range(len(memory.memory.surfaces)):
            surface = memory.memory.surfaces[row]
            counts.update({(surface, concept): count for concept, count in memory.recall(surface).items()})
        for concept in {concept for _, concept in counts}:
            counts[kb.names[int(kb.term_names[int(kb.concept_terms[concept])])], concept] += 1
        return cls(counts, encoder)

    def features(self, pool: Pool) -> Floats:
        """Return the features of each pair; the score is NaN if the concept is not in the memory. *Shape:* (pairs, 4)."""
        scores = self._kernel.between([mention.query for mention in pool.mentions]).astype(np.float32) @ self._weights
        columns = np.array([self._columns.get(concept, -1) for concept in pool.concepts.tolist()], dtype=np.int64)
        own = np.where(columns < 0, np.nan, scores[pool.owners, columns])
        best = scores.max(axis=1)[pool.owners]
        better = np.array([np.sum(scores[owner] > score) for owner, score in zip(pool.owners, np.nan_to_num(own), strict=True)])
        return np.column_stack((own, best - np.nan_to_num(own), better, best))


def _beginnings(text: str) -> str:
    return " ".join(word[:_BEGINNING] for word in text.split())


# Candidates with the features of reranker and regression, for training and prediction.

ALL_COLUMNS = (*NAMES, *COLUMNS)
_BATCH = 256  # documents


@dataclass(frozen=True)
class Candidates:
    """Candidates of mentions: the features of each (mention, concept) pair, and the name that was compared."""

    documents: Sequence[Document]
    pool: Pool
    matrix: Floats
    names: Ints

    def is_right(self, resolver: ConceptResolver, kb: KnowledgeBase) -> npt.NDArray[np.bool_]:
        """Return a mask of the pairs whose concept is gold."""
        gold = [_gold(each.mention, resolver) for each in self.pool.mentions]
        pairs = zip(self.pool.concepts.tolist(), self.pool.owners.tolist(), strict=True)
        return np.array([kb.concept_ids[concept] in gold[owner] for concept, owner in pairs], dtype=bool)


class Proposing:
    """Candidate generator over a knowledge base and a memory of annotated documents.

    With `is_dense`, the nearest names of the encoder are candidates too, which requires encoding all names.
    """

    def __init__(self, kb: KnowledgeBase, known: Sequence[Document], encoder: RememberingEncoder, *, is_dense: bool) -> None:
        self.kb = kb
        memory = KbMemory(Memory.of(count_mentions(known)), kb)
        parts = open_parts(kb, OpenContext())
        if is_dense:
            as_encoder = cast(Encoder, encoder)  # duck typing: it has all methods that DenseLinker calls
            dense = DenseLinker(kb, as_encoder, index_in_memory(kb, as_encoder))
            parts = RerankParts({**parts.linkers, "dense": dense}, parts.similarity)
        self._parts = parts
        self._pooling, self._features = Pooling(kb, memory), FeatureMaker(kb, memory, parts.similarity)
        self._regression = Regression.of(memory, kb, encoder)

    def candidates(self, documents: Sequence[Document]) -> Iterator[Candidates]:
        """Yield the candidates of documents in batches."""
        for start in range(0, len(documents), _BATCH):
            docs = documents[start : start + _BATCH]
            queries = [queries_of(doc) for doc in docs]
            pool = self._pooling.pool(queries, self._parts.propose([query for own in queries for query in own]))
            found = self._features.features(pool)
            yield Candidates(docs, pool, np.hstack((found.matrix, self._regression.features(pool))), found.names)


def _gold(mention: Mention, resolver: ConceptResolver) -> frozenset[str]:
    return frozenset[str]().union(*map(resolver.concepts_with_id, mention.concept_ids))


# Folds of a training set; the dictionary of a fold does not contain the fold's own mentions.

PARTS = 5
_SEED = 0


@dataclass(frozen=True, slots=True)
class Part:
    """A fold: its documents, the other documents (used as memory), and the knowledge base to link to."""

    documents: Sequence[Document]
    others: Sequence[Document]
    kb: KnowledgeBase


def training_documents(key: str, dataset: PreparedDataset) -> Sequence[Document]:
    """Return the training documents, without those that are also in dev or test (by id or text).

    AskAPatient consists of phrases rather than documents; its train split is used unfiltered, as in the papers.
    """
    if key.startswith("askapatient"):
        return list(dataset.documents("train"))
    return training_corpora([dataset])[0].documents


def parts_of(key: str, documents: Sequence[Document]) -> Iterator[Part]:
    """Yield the folds of a training set; all texts from one published document are in the same fold."""
    sources = sorted({corpus_document(doc) for doc in documents})
    random.Random(_SEED).shuffle(sources)
    part_of = {source: number % PARTS for number, source in enumerate(sources)}
    for number in range(PARTS):
        own = [doc for doc in documents if part_of[corpus_document(doc)] == number]
        others = [doc for doc in documents if part_of[corpus_document(doc)] != number]
        yield Part(own, others, _kb(key, number, own, others))


def _kb(key: str, number: int, own: Sequence[Document], others: Sequence[Document]) -> KnowledgeBase:
    """Return the dictionary of a fold, built on first use and cached."""
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
    """Open the dataset that a row is trained and evaluated on."""
    name = {"ncbi_disease": GENBIOEL, "bc5cdr": "bc5cdr"}.get(key, key.replace("_", "-"))
    return open_dataset(name, data_folder())
