"""The figures of a system that finds mentions itself, or is given them, from its kept predictions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from benchmarks.results.e2e_tasks import EndToEndTask
from benchmarks.results.store import Figures
from onym.evaluate.cases import Known, gold_cases
from onym.evaluate.end_to_end import score_end_to_end
from onym.evaluate.metrics import score
from onym.predictions.file import Predictions
from onym.types import Document, Mention

PROTOCOLS = {"strict": "bhowmik-strict", "partial": "bhowmik-partial", "overlap": "neleval-overlap-maxmax"}
_DRAWS = 2_000
_SEED = 0


def judge_found(task: EndToEndTask, predictions: Predictions) -> Figures:
    """Return precision, recall and F1 in percent by each protocol, and the 95 % interval of the strict F1 over documents."""
    found = documents_of(task.documents, predictions)
    same = Known(task.kb).same
    figures: Figures = {}
    for name, protocol in PROTOCOLS.items():
        scores = score_end_to_end(task.documents, found, protocol, same)
        figures |= {f"{name}_p": scores.precision, f"{name}_r": scores.recall, f"{name}_f1": scores.f1}
    low, high = _interval([_counts(gold, own, same) for gold, own in zip(task.documents, found, strict=True)])
    shares = {name: round(100 * value, 1) for name, value in (figures | {"low": low, "high": high}).items()}
    return shares | {"documents": len(task.documents), "gold": sum(len(doc.mentions) for doc in task.documents)}


def judge_given(task: EndToEndTask, predictions: Predictions) -> Figures:
    """Return recall@1 and mean average precision in percent, where mentions were given; those out of reach count as wrong."""
    cases = gold_cases(task.documents, lambda key: predictions.answers[key], Known(task.kb))
    any_id, strict = score(cases, "any-id"), score(cases, "strict")
    shares = {"any_id_r1": any_id.recall[1], "strict_r1": strict.recall[1], "map": strict.mean_average_precision}
    counts = {"documents": len(task.documents), "gold": len(cases), "reachable": strict.reachable}
    return {name: round(100 * value, 1) for name, value in shares.items()} | counts


def documents_of(documents: Sequence[Document], predictions: Predictions) -> list[Document]:
    """Return the documents with what was found in them: the best answer to each mention that has one."""
    found: dict[str, list[Mention]] = defaultdict(list)
    texts = {doc.id: doc.text for doc in documents}
    for (doc_id, start, end), answers in predictions.answers.items():
        if answers:
            found[doc_id].append(Mention(start, end, texts[doc_id][start:end], answers[0][0]))
    return [Document(doc.id, doc.text, tuple(found[doc.id])) for doc in documents]


def _counts(gold: Document, found: Document, same: object) -> tuple[float, float, float]:
    scores = score_end_to_end([gold], [found], PROTOCOLS["strict"], same)  # type: ignore[arg-type]
    return scores.right, scores.predicted, scores.gold


def _interval(counts: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Return the percentile-bootstrap interval of F1, drawing documents."""
    values = np.array(counts, dtype=np.float64).reshape(-1, 3)
    if not len(values):
        return 0.0, 1.0
    rows = np.random.default_rng(_SEED).integers(0, len(values), (_DRAWS, len(values)))
    right, predicted, gold = values[rows].sum(1).T
    low, high = np.percentile(2 * right / np.maximum(predicted + gold, 1), [2.5, 97.5])
    return float(low), float(high)
