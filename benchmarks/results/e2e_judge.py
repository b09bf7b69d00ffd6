"""The figures of a system that finds mentions itself, or is given them, from its kept predictions: as the keys of a row."""

from __future__ import annotations

from benchmarks.results.e2e_tasks import EndToEndTask
from benchmarks.results.store import Figures
from onym.evaluate.cases import ConceptResolver, gold_cases
from onym.evaluate.end_to_end import ScoresWithIntervals, predicted_documents, score_all
from onym.evaluate.metrics import score
from onym.outputs.predictions import DocumentNames, Predictions

KEYS = {
    "strict": "bhowmik-strict",
    "partial": "bhowmik-partial",
    "overlap": "neleval-overlap-maxmax",
    "document": "document",
}


def judge_found(task: EndToEndTask, predictions: Predictions) -> Figures:
    """Return precision, recall and F1 in percent by each protocol, and the 95 % confidence interval of the strict F1."""
    found = _scores(task, predictions)
    figures: Figures = {}
    for key, protocol in KEYS.items():
        scores = found[protocol].scores
        figures |= {f"{key}_p": scores.precision, f"{key}_r": scores.recall, f"{key}_f1": scores.f1}
    low, high = found[KEYS["strict"]].f1
    if task.shared:
        figures["reduced_f1"] = _scores(task.without_shared(), predictions)[KEYS["strict"]].scores.f1
    shares = {name: round(100 * value, 1) for name, value in (figures | {"low": low, "high": high}).items()}
    counts = {"documents": len(task.documents), "gold": sum(len(doc.mentions) for doc in task.documents)}
    return shares | counts | ({"shared": len(task.shared)} if task.shared else {})


def _scores(task: EndToEndTask, predictions: Predictions) -> dict[str, ScoresWithIntervals]:
    return score_all(task.documents, predicted_documents(task.documents, predictions), ConceptResolver(task.kb).canonical)


def judge_annotated(task: EndToEndTask, predictions: Predictions) -> Figures:
    """Return recall@1 and mean average precision in percent on annotated mentions; gold ids that the KB lacks are wrong."""
    known = predictions.answers_to(DocumentNames.of_documents(task.documents))
    cases = gold_cases(task.documents, lambda key: known[key], ConceptResolver(task.kb), is_decided=predictions.is_decided)
    any_id, strict = score(cases, "any-id"), score(cases, "strict")
    shares = {"any_id_r1": any_id.recall[1], "strict_r1": strict.recall[1], "map": strict.mean_average_precision}
    counts = {"documents": len(task.documents), "gold": len(cases), "in_kb": strict.in_kb}
    return {name: round(100 * value, 1) for name, value in shares.items()} | counts
