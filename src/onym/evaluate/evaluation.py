"""Judging a system's answers on a split of a prepared benchmark: all figures, and what they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from onym._version import __version__
from onym.datasets import Prepared
from onym.datasets.genbioel import DOCUMENT
from onym.errors import ConfigError
from onym.evaluate.cases import Case, Key, Known, Same, gold_cases
from onym.evaluate.metrics import Scores, places_of, score
from onym.evaluate.protocols import PROTOCOLS, protocol
from onym.evaluate.significance import bootstrap_interval
from onym.evaluate.slices import Similarity, Training, slices_of
from onym.kb import KnowledgeBase
from onym.predictions.file import Answer, Predictions
from onym.text.similarity import NameSimilarity

KS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)


@dataclass(frozen=True, slots=True)
class SliceScore:
    """A part of the cases: recall@1 with its interval."""

    name: str
    cases: int
    recall: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything that is known of a system on a split. `cases` are the mentions, judged by `protocol` in `places`."""

    protocol: str
    scores: dict[str, Scores]
    low: float
    high: float
    slices: tuple[SliceScore, ...]
    left_out: dict[str, int]
    without_slices: dict[str, str]
    manifest: dict[str, Any]
    cases: tuple[Case, ...]
    places: tuple[int | None, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, without any mention."""
        return {
            "protocol": self.protocol,
            "recall_at_1": self.scores[self.protocol].recall[1],
            "low": self.low,
            "high": self.high,
            "scores": {name: asdict(scores) for name, scores in self.scores.items()},
            "slices": [asdict(part) for part in self.slices],
            "left_out": self.left_out,
            "without_slices": self.without_slices,
            "manifest": self.manifest,
        }


def evaluate(
    benchmark: Prepared,
    split: str,
    predictions: Predictions,
    kb: KnowledgeBase,
    *,
    name: str = "strict",
    replaced: dict[str, str] | None = None,
    similarity: NameSimilarity | None = None,
) -> Evaluation:
    """Judge predictions by a protocol, beside all the others.

    `replaced` maps ids that the knowledge base no longer has. Without `similarity`, there are no slices by likeness.
    """
    protocol(name)  # an unknown one is refused before the work
    _require_same_kb(predictions, kb)
    cases, missing = judged_cases(benchmark, split, predictions, kb, replaced)
    places = places_of(cases, name)
    low, high = _interval(cases, places)
    training = training_of(benchmark, split, Known(kb, replaced or {}).same)
    sliced = slices_of(cases, kb, training=training, similarity=similarity_by(similarity) if similarity else None)
    dropped = {f"dropped by the preparation: {why}": n for why, n in benchmark.report["splits"][split]["dropped"].items()}
    return Evaluation(
        protocol=name,
        scores={each: score(cases, each, KS) for each in PROTOCOLS},
        low=low,
        high=high,
        slices=tuple(_slice_score(part, rows, cases, places) for part, rows in sliced.indices.items()),
        left_out=dropped | ({"mentions that the predictions lack (counted as wrong)": missing} if missing else {}),
        without_slices=sliced.left_out,
        manifest=manifest_of(benchmark, split, predictions, kb, replaced),
        cases=tuple(cases),
        places=tuple(places),
    )


def judged_cases(
    benchmark: Prepared, split: str, predictions: Predictions, kb: KnowledgeBase, replaced: dict[str, str] | None = None
) -> tuple[list[Case], int]:
    """Return the cases of a split with what was answered, and the number of mentions that have no answer at all."""
    missing: set[Key] = set()

    def answers(key: Key) -> tuple[Answer, ...]:
        if key not in predictions.answers:
            missing.add(key)
        return predictions.answers.get(key, ())

    cases = gold_cases(benchmark.documents(split), answers, Known(kb, replaced or {}))
    if cases and len(missing) == sum(len(case.mentions) for case in cases):
        what = f"none of the {len(cases):,} mentions of {benchmark.name} ({split}) has an answer"
        raise ConfigError("predictions-other", what, fix="these are predictions for other documents, or for another split")
    return cases, len(missing)


def manifest_of(
    benchmark: Prepared, split: str, predictions: Predictions, kb: KnowledgeBase, replaced: dict[str, str] | None = None
) -> dict[str, Any]:
    """Return all that a figure depends on."""
    return {
        "onym": __version__,
        "benchmark": {"name": benchmark.name, "digest": benchmark.digest, "split": split},
        "inputs": {entry.name: entry.sha256 for entry in benchmark.manifest.inputs},
        "kb": {"digest": kb.digest, "concepts": len(kb), "names": len(kb.names)},
        "predictions": predictions.source,
        "replaced_ids": len(replaced or {}),
        "types_restricted": bool(benchmark.report["restricts_types"]),
        "leaks": benchmark.report["leaks"],
    }


def similarity_by(names: NameSimilarity) -> Similarity:
    """Return the measure of likeness for slices: each surface against the most similar of its names."""

    def similarity(surfaces: list[str], of_each: list[list[str]]) -> list[float]:
        left = [surface for surface, candidates in zip(surfaces, of_each, strict=True) for _ in candidates]
        values = iter(names.pairwise(left, [name for candidates in of_each for name in candidates]).tolist())
        return [max((next(values) for _ in candidates), default=0.0) for candidates in of_each]

    return similarity


def _require_same_kb(predictions: Predictions, kb: KnowledgeBase) -> None:
    said = predictions.source.get("kb")
    made_with = said.get("digest", "") if isinstance(said, dict) else ""
    if made_with and made_with != kb.digest:
        what = f"the predictions were made with the knowledge base {made_with}, not with {kb.digest}"
        raise ConfigError("kb-mismatch", what, where=str(kb.folder), fix="name that knowledge base, or link again")


def origin(case: Case) -> str:
    """Return the document of the corpus that a case came from, where a preparation made several of it.

    >>> from onym.types import Document
    >>> origin(Case("7.1", frozenset({"a:1"}), ((),), document=Document("7.1", "fever", notes=(("document", "7"),))))
    '7'
    """
    notes = dict(case.document.notes) if case.document else {}
    return notes.get(DOCUMENT, case.document_id)


def _interval(cases: Sequence[Case], places: Sequence[int | None]) -> tuple[float, float]:
    """Draw whole documents: the mentions of one are not independent."""
    hits = [place == 1 for place in places]
    return bootstrap_interval(hits, groups=[origin(case) for case in cases])


def training_of(benchmark: Prepared, split: str, same: Same) -> Training | None:
    """Return what the train split of a benchmark teaches, unless it is that which is judged."""
    if split == "train" or "train" not in benchmark.splits:
        return None
    return Training.of(benchmark.documents("train"), same)


def _slice_score(name: str, rows: list[int], cases: Sequence[Case], places: Sequence[int | None]) -> SliceScore:
    part = [places[row] for row in rows]
    low, high = _interval([cases[row] for row in rows], part)
    return SliceScore(name, len(rows), sum(place == 1 for place in part) / max(len(rows), 1), low, high)
