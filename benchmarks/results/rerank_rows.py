"""Rows of the reranker: their mentions, scoring, and stored predictions.

    results/rerank/DATASET.SPLIT.jsonl.gz       the predictions of a split, in the format of docs/reference/predictions.md
    results/rerank/rows.json                    the figures of each row, and the settings of the run
    results/rerank/LINKER/                      the same for a linker without the reranker

A row covers the mentions of one type in a dataset, linked to the open, joined knowledge base. Figures are strict recall@1 in
percent, on mentions whose gold ids are in the knowledge base (`strict_r1`) and on all mentions (`strict_r1_all`). A mention is
*unseen* if its normalised surface is in no training document of the reranker. Retired ids are not mapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import data_folder
from benchmarks.results.store import FOLDER
from onym.calibrate import area_under_roc, expected_calibration_error
from onym.datasets import PreparedDataset, open_dataset
from onym.datasets.training import training_corpora
from onym.evaluate.cases import Case
from onym.evaluate.evaluation import document_groups, make_cases
from onym.evaluate.metrics import gold_ranks
from onym.evaluate.significance import bootstrap_interval
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from onym.outputs.predictions import Predictions
from onym.text.normal import normal_name
from onym.train.configs import RerankTrainingConfig
from onym.train.stages import read_values
from onym.types import Document

PRESET = "rerank-open"
ALONE = ("exact", "tfidf")
"""Linkers whose rows without the reranker are kept."""
KEPT = FOLDER / "rerank"
SPLITS = ("dev", "test")
TYPES = {"ncbi-disease": (), "bc5cdr": (), "biored": ("Disease", "Chemical"), "nlm-chem": ("Chemical",)}
"""The datasets, each with the types of mentions that are predicted; none are all."""


@dataclass(frozen=True, slots=True)
class RowKind:
    """The dataset and mention type of a row."""

    dataset: str
    of_type: str = ""

    @property
    def name(self) -> str:
        """Corpus, type and knowledge base, named as in BELB."""
        of_type = f"-{self.of_type.lower()}" if self.of_type and self.dataset != "nlm-chem" else ""
        return f"{self.dataset}{of_type}.open-kb-joined"


KINDS = {
    "ncbi_disease": RowKind("ncbi-disease"),
    "bc5cdr_disease": RowKind("bc5cdr", "Disease"),
    "bc5cdr_chemical": RowKind("bc5cdr", "Chemical"),
    "biored_disease": RowKind("biored", "Disease"),
    "biored_chemical": RowKind("biored", "Chemical"),
    "nlm_chem": RowKind("nlm-chem", "Chemical"),
}


class OfTypes(PreparedDataset):
    """A dataset restricted to mentions of some types; empty means all."""

    types: tuple[str, ...] = ()

    def documents(self, split: str) -> Iterator[Document]:
        """Yield the documents of a split with only the mentions of these types."""
        for doc in super().documents(split):
            kept = tuple(mention for mention in doc.mentions if not self.types or mention.type in self.types)
            yield replace(doc, mentions=kept)


def open_of_types(name: str, types: tuple[str, ...]) -> OfTypes:
    """Open a dataset restricted to some mention types; it is prepared on first use."""
    dataset = OfTypes.open(open_dataset(name, data_folder()).folder)
    dataset.types = types
    return dataset


def file_of(dataset: str, split: str, alone: str = "") -> Path:
    """Return the path of a split's stored predictions; `alone` names a linker run without the reranker."""
    return KEPT / alone / f"{dataset}.{split}.jsonl.gz"


def judge(key: str, split: str, kb: KnowledgeBase, predictions: Predictions) -> dict[str, float]:
    """Return the figures of a row."""
    kind = KINDS[key]
    dataset = open_of_types(kind.dataset, (kind.of_type,) if kind.of_type else ())
    cases = make_cases(EvaluationTask(dataset, split, kb), predictions)
    within = [case for case in cases if case.is_in_kb]
    hits = [rank == 1 for rank in gold_ranks(within, "strict")]
    low, high = bootstrap_interval(hits, groups=document_groups(within))
    unseen = [not _is_seen(case) for case in within]
    figures = {
        "strict_r1": _percent(hits),
        "strict_r1_all": _percent([rank == 1 for rank in gold_ranks(cases, "strict")]),
        "any_id_r1": _percent([rank == 1 for rank in gold_ranks(within, "any-id")]),
        "seen_strict_r1": _percent([hit for hit, is_new in zip(hits, unseen, strict=True) if not is_new]),
        "unseen_strict_r1": _percent([hit for hit, is_new in zip(hits, unseen, strict=True) if is_new]),
        "low": round(100 * low, 1),
        "high": round(100 * high, 1),
    }
    counts = {"mentions": len(cases), "in_kb": len(within), "unseen": sum(unseen)}
    return figures | counts | _confidence(within, hits, predictions)


def _confidence(cases: list[Case], hits: list[bool], predictions: Predictions) -> dict[str, float]:
    """Return calibration figures of the top answers, or an empty dict if they have no confidences."""
    if all(one.confidence is None for one in predictions):
        return {}
    found = {(one.document_id, one.start, one.end): one.confidence or 0.0 for one in predictions}
    said = [found.get((case.document_id, case.mentions[0].start, case.mentions[0].end), 0.0) for case in cases]
    confidences, right = np.array(said), np.array(hits)
    return {
        "ece": round(expected_calibration_error(confidences, right), 4),
        "auroc": round(area_under_roc(confidences, right), 4),
    }


def _is_seen(case: Case) -> bool:
    return normal_name(case.mentions[0].surface) in training_surfaces()


@cache
def training_surfaces() -> frozenset[str]:
    """Return the normalised surfaces of all possible training documents of the reranker."""
    data = RerankTrainingConfig.of(read_values("rerank", None, PRESET)).data
    datasets, exclude = ([open_dataset(name, data_folder()) for name in names] for names in (data.datasets, data.exclude))
    documents = [doc for corpus in training_corpora(datasets, exclude) for doc in corpus.documents]
    return frozenset(
        normal_name(mention.surface) for doc in documents for mention in doc.mentions if mention.type in data.types
    )


def _percent(hits: list[bool]) -> float:
    return round(100 * sum(hits) / len(hits), 1) if hits else 0.0


def rows_of_dataset(dataset: str) -> list[str]:
    """Return the rows of a dataset."""
    return [key for key, kind in KINDS.items() if kind.dataset == dataset]


def source_without_paths(source: dict[str, Any]) -> dict[str, Any]:
    """Return the run settings that are stored in a row."""
    linker = source["linker"]
    made = {"reranker": linker["reranker"]} if "reranker" in linker else {"linker": linker["linker"]}
    return {"kb": source["kb"], **made, "dataset": source["dataset"]}
