"""Train a reranker on a train split, predict dev or test, and store predictions and figures.

    python -m benchmarks.results.papers.predict ncbi_disease --split dev
    python -m benchmarks.results.papers.predict ncbi_disease --split test
    python -m benchmarks.results.papers.predict askapatient_fold0 --split dev --without regression --dry

The reranker is that of `onym train rerank`, plus the nearest names of MiniLM (candidates and features) and the scores of a
regression from the memory's surfaces to their concepts. `--without` leaves out one of the two, for selection on dev; `--dry`
stores nothing. On BC5CDR the encoder proposes no candidates, because it would have to encode a million names. The models are
not published: the licences of AskAPatient and BioSyn's dictionaries do not allow redistribution.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.results.papers.parts import (
    ALL_COLUMNS,
    COLUMNS,
    PARTS,
    Candidates,
    Proposing,
    RememberingEncoder,
    open_papers_dataset,
    parts_of,
    training_documents,
)
from benchmarks.results.papers.rows import KEYS, file_of, keep_row, open_papers_task
from benchmarks.results.store import NAMES as NAMES_KEPT
from benchmarks.results.store import judge, shorten_scores, write_packed
from benchmarks.results.tasks import SPLITS, Task
from onym._version import __version__
from onym.evaluate.cases import ConceptResolver
from onym.kb import KnowledgeBase
from onym.methods.trees.trees import Floats, Trees
from onym.outputs.predictions import Answer, Prediction, Predictions
from onym.pipeline.pipeline import DECIDED
from onym.train.configs import TreesConfig
from onym.train.trees import fit_matrix
from onym.types import Document

SEEDS = 2
"""Number of models with different seeds; their probabilities are averaged."""
WITHOUT = {"": (), "dense": ("dense", "dense_margin", "dense_rank"), "regression": COLUMNS}


class PapersReranker:
    """A reranker trained for one task: tree ensembles score the candidates of each mention."""

    def __init__(self, key: str, encoder: RememberingEncoder, without: str = "") -> None:
        self.key, self._encoder = key, encoder
        self.is_dense = key != "bc5cdr" and without != "dense"
        self._documents = training_documents(key, open_papers_dataset(key))
        left_out = set(WITHOUT[without])
        self._columns = [at for at, name in enumerate(ALL_COLUMNS) if name not in left_out]
        self._proposing: Proposing | None = None
        self._trees = self._fit()

    @property
    def config(self) -> dict[str, object]:
        """Settings in use."""
        features = [ALL_COLUMNS[at] for at in self._columns]
        encoder = {name: self._encoder.config[name] for name in ("model", "weights", "parameters")}
        trees = {"trees": sum(len(each.roots) for each in self._trees), "seeds": SEEDS, "parts": PARTS}
        return {"linker": "rerank", "is_dense": self.is_dense, "encoder": encoder, **trees, "features": features}

    def predict(self, task: Task) -> Predictions:
        """Predict all mentions of a task."""
        if self._proposing is None or self._proposing.kb.digest != task.kb.digest:  # reused while the KB is the same
            self._proposing = Proposing(task.kb, self._documents, self._encoder, is_dense=self.is_dense)
        found = self._proposing.candidates(list(task.dataset.documents(task.split)))
        answers = (one for each in found for one in self._predict_pool(task.kb, each))
        about = {"name": task.dataset.name, "digest": task.dataset.digest, "split": task.split}
        return Predictions.of(answers, {**self._source(task.kb), "dataset": about})

    def _source(self, kb: KnowledgeBase) -> dict[str, Any]:
        """Return what the answers depend on, with the keys of `Pipeline.source`."""
        about = {"digest": kb.digest, "concepts": len(kb), "names": len(kb.names)}
        order = {"ties": DECIDED, "vocabularies": list(kb.order.vocabularies)}
        return {"onym": __version__, "linker": self.config, "kb": about, "order": order, "top_k": NAMES_KEPT}

    def _fit(self) -> list[Trees]:
        matrices, labels = [], []
        for part in parts_of(self.key, self._documents):
            proposing = Proposing(part.kb, part.others, self._encoder, is_dense=self.is_dense)
            resolver = ConceptResolver(part.kb)
            for found in proposing.candidates(distinct(part.documents)):
                matrices.append(found.matrix[:, self._columns])
                labels.append(found.is_right(resolver, part.kb))
            print(f"{self.key}: a part of {len(part.documents):,} documents", file=sys.stderr, flush=True)
        matrix, is_right = np.concatenate(matrices), np.concatenate(labels)
        return [fit_matrix(matrix, is_right, TreesConfig(seed=seed)) for seed in range(SEEDS)]

    def _probabilities(self, matrix: Floats) -> Floats:
        rows = matrix[:, self._columns]
        return np.asarray(np.mean([trees.probabilities(rows) for trees in self._trees], axis=0), dtype=np.float64)

    def _predict_pool(self, kb: KnowledgeBase, found: Candidates) -> Iterator[Prediction]:
        scores, pool = self._probabilities(found.matrix), found.pool
        for row, each in enumerate(pool.mentions):
            pairs = slice(pool.offsets[row], pool.offsets[row + 1])
            order = sorted(range(pairs.start, pairs.stop), key=lambda at: (-scores[at], pool.concepts[at]))
            ranked = [(int(pool.concepts[at]), int(found.names[at]), float(scores[at])) for at in order]
            doc = found.documents[each.doc]
            yield Prediction(doc.id, each.mention.start, each.mention.end, answer_with_names(kb, ranked))


def answer_with_names(kb: KnowledgeBase, ranked: Sequence[tuple[int, int, float]]) -> tuple[Answer, ...]:
    """Return answers by name: all concepts of a name get the score of its best concept, which comes first.

    `ranked` are concepts with their names and scores, best first.
    """
    answers: list[Answer] = []
    answered: set[int] = set()
    number = 0
    for concept, name, score in ranked:
        if concept not in answered and number < NAMES_KEPT:
            sharing = [concept, *(other for other in kb.name_concepts[name].tolist() if other != concept)]
            answers += [((kb.concept_ids[each],), score, number) for each in sharing if each not in answered]
            answered.update(sharing)
            number += 1
    return tuple(answers)


def distinct(documents: Sequence[Document]) -> list[Document]:
    """Drop single-mention documents that repeat the surface and ids of an earlier one."""
    found: dict[tuple[object, ...], Document] = {}
    for doc in documents:
        is_alone = len(doc.mentions) == 1
        found.setdefault((doc.mentions[0].surface, doc.mentions[0].concept_ids) if is_alone else doc.key, doc)
    return list(found.values())


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    encoder = RememberingEncoder.open()
    for key in options.tasks:
        reranker = PapersReranker(key, encoder, options.without)
        for split in options.split or ["dev"]:
            figures = _judge(reranker, key, split, is_kept=not options.dry)
            print(json.dumps({"task": key, "split": split, "without": options.without, **figures}), flush=True)
        encoder.keep()
    return 0


def _judge(reranker: PapersReranker, key: str, split: str, *, is_kept: bool) -> dict[str, float]:
    task = open_papers_task(key, split)
    made = reranker.predict(task)
    predictions = Predictions.of(shorten_scores(made), made.source)  # score the rounded values, because only these are stored
    judged = judge(task, predictions)
    if is_kept:
        write_packed(file_of(key, split), predictions)
        keep_row(key, split, judged, {"kb": made.source["kb"], **reranker.config})
    return judged.figures


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results.papers.predict",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tasks", choices=KEYS, nargs="+", metavar="TASK")
    parser.add_argument("--split", choices=SPLITS, action="append", help="defaults to dev; may be repeated")
    parser.add_argument("--without", choices=tuple(WITHOUT), default="", help="features to leave out")
    parser.add_argument("--dry", action="store_true", help="keep nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
