"""Fit a score threshold or a confidence calibration on a development set.

The threshold is the minimum score with the best strict F1; mentions below it are left unlinked (NIL). The threshold is found
from a single run of the pipeline without a threshold. A calibration maps features of an answer, such as its score, to the
probability that it is right. It is fitted on a pipeline's answers, compared with gold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from onym.calibrate import Answers, Calibration, ScoredAnswer
from onym.datasets.training import pool_documents
from onym.errors import ConfigError
from onym.evaluate.cases import CanonicalId, gold_cases, key_of
from onym.evaluate.end_to_end import EndToEndScores
from onym.evaluate.metrics import gold_ranks
from onym.evaluate.task import EvaluationTask, without_annotations
from onym.kb import KnowledgeBase
from onym.outputs.predictions import DocumentNames, Key, Prediction, Predictions, predictions_of
from onym.pipeline.config import FittedCalibration
from onym.pipeline.pipeline import Pipeline
from onym.text.normal import normal_name
from onym.types import Document, Mention

TRIED_THRESHOLDS = 200
"""The number of thresholds tried, which are quantiles of the scores."""
_DIGITS, _FOLDS = 4, 5  # number of decimals of a threshold, number of folds of the cross-validation
_THRESHOLD_PROTOCOL = "bhowmik-strict"
Mentions = Literal["given", "found", "terms"]
_CALIBRATION_PROTOCOL = "strict"
MIN_OF_TYPE = 200
"""The number of answers that a type of mentions needs for a calibration of its own."""
_RARE = 0.01  # share of a corpus's gold concepts; semantic groups with fewer are annotated by chance


@dataclass(frozen=True, slots=True)
class TunedThreshold:
    """The best threshold, the strict F1 with this threshold, and the strict F1 without a threshold."""

    threshold: float
    f1: float
    f1_without: float


def tune_threshold(gold: Sequence[Document], predictions: Predictions, canonical: CanonicalId = str) -> TunedThreshold:
    """Return the threshold with the best strict F1, the lowest threshold in case of ties.

    `predictions` must come from a pipeline without a threshold, run on the same documents.

    >>> from onym.outputs.predictions import Prediction
    >>> from onym.types import Mention
    >>> gold = Document("1", "fever high", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> right, wrong = ((("mesh:D005334",), 0.9, 0),), ((("mesh:D006973",), 0.4, 1),)
    >>> made = Predictions.of([Prediction("1", 0, 5, right), Prediction("1", 6, 10, wrong)], {})
    >>> tuned = tune_threshold([gold], made)
    >>> 0.4 < tuned.threshold <= 0.9, tuned.f1, round(tuned.f1_without, 2)
    (True, 1.0, 0.67)
    """
    scores = [one.answers[0][1] for one in predictions if one.answers] or [0.0]
    candidates = sorted({round(float(each), _DIGITS) for each in np.quantile(scores, np.linspace(0, 1, TRIED_THRESHOLDS))})
    answers = _ScoredItems.of(gold, predictions, canonical)
    figures = {threshold: answers.scores(threshold).f1 for threshold in candidates}
    best = max(candidates, key=figures.__getitem__)
    return TunedThreshold(best, figures[best], answers.scores().f1)


def cross_validate_f1(gold: Sequence[Document], predictions: Predictions, canonical: CanonicalId = str) -> float:
    """Return the cross-validated strict F1 of threshold tuning: each fold is scored with a threshold tuned on the other folds.

    If the result is not better than F1 without a threshold, tuning would overfit these documents.

    >>> from onym.types import Mention
    >>> gold = [Document(str(n), "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),)) for n in range(10)]
    >>> made = Predictions.of([Prediction(str(n), 0, 5, ((("mesh:D005334",), 0.9, 0),)) for n in range(10)], {})
    >>> cross_validate_f1(gold, made)
    1.0
    """
    folds = []
    for fold in range(_FOLDS):
        inside = [doc for number, doc in enumerate(gold) if number % _FOLDS == fold]
        outside = [doc for number, doc in enumerate(gold) if number % _FOLDS != fold]
        tuned = tune_threshold(outside, _predictions_for(predictions, outside), canonical)
        folds.append(_ScoredItems.of(inside, _predictions_for(predictions, inside), canonical).scores(tuned.threshold))
    return _strict_scores(*(sum(getattr(each, name) for each in folds) for name in ("gold", "predicted", "right"))).f1


def _predictions_for(predictions: Predictions, docs: Sequence[Document]) -> Predictions:
    keys = {doc.key for doc in docs}
    return Predictions.of((one for one in predictions if one.document_key in keys), predictions.source)


@dataclass(frozen=True, slots=True)
class _ScoredItems:
    """Predicted (span, concept) items: the score of each, whether it is right, and the number of gold items."""

    score: npt.NDArray[np.float64]
    is_right: npt.NDArray[np.bool_]
    gold: int

    @classmethod
    def of(cls, gold: Sequence[Document], predictions: Predictions, canonical: CanonicalId) -> _ScoredItems:
        names = DocumentNames.of_documents(gold)
        wanted = {
            (names.of(doc.key), mention.start, mention.end, canonical(concept_id))
            for doc in gold
            for mention in doc.mentions
            for concept_id in mention.concept_ids
        }
        known = {names.of(doc.key) for doc in gold}
        found = {
            (name, start, end, canonical(concept_id)): answers[0][1]
            for (name, start, end), answers in predictions.answers_to(names).items()
            if name in known and answers
            for concept_id in answers[0][0]
        }
        return cls(np.array(list(found.values())), np.array([item in wanted for item in found], dtype=bool), len(wanted))

    def scores(self, threshold: float = -np.inf) -> EndToEndScores:
        """Return the strict precision, recall and F1 of the items with at least this score."""
        is_kept = self.score >= threshold
        return _strict_scores(self.gold, int(is_kept.sum()), int((is_kept & self.is_right).sum()))


def _strict_scores(gold: int, predicted: int, right: int) -> EndToEndScores:
    return EndToEndScores(_THRESHOLD_PROTOCOL, gold=gold, predicted=predicted, right=right, found=right)


def above_threshold(predictions: Predictions, threshold: float) -> Predictions:
    """Apply a threshold to predictions: mentions with a lower score are left unlinked.

    >>> from onym.outputs.predictions import Prediction
    >>> one, other = ((("mesh:D1",), 0.9, 0),), ((("mesh:D2",), 0.4, 1),)
    >>> made = Predictions.of([Prediction("1", 0, 2, one), Prediction("1", 3, 5, other)], {"threshold": None})
    >>> [each.nil_reason for each in above_threshold(made, 0.5)], above_threshold(made, 0.5).source
    ([None, 'below-threshold'], {'threshold': 0.5})
    """
    kept = (one if one.answers and one.answers[0][1] >= threshold else _unlink(one) for one in predictions)
    return Predictions.of(kept, predictions.source | {"threshold": threshold})


def _unlink(one: Prediction) -> Prediction:
    return replace(one, nil_reason="below-threshold") if one.answers else one


@dataclass(frozen=True)
class JudgedAnswers:
    """Answers compared with gold: the rank of the gold concept, the document and the type of each mention.

    `unanswered` counts the mentions that have no answer. `keys` are the prediction keys of the answers, and `kinds` the types
    that the pipeline gave the mentions.
    """

    answers: Answers
    ranks: list[int | None]
    documents: list[str]
    types: list[str]
    unanswered: int = 0
    keys: Sequence[Key] = ()
    kinds: Sequence[str] = ()

    @classmethod
    def pool(cls, several: Sequence[JudgedAnswers]) -> JudgedAnswers:
        """Concatenate the answers of several datasets; documents with the same id in different datasets stay distinct."""
        return cls(
            Answers(np.concatenate([each.answers.columns for each in several])),
            [rank for each in several for rank in each.ranks],
            [f"{number}/{doc}" for number, each in enumerate(several) for doc in each.documents],
            [kind for each in several for kind in each.types],
            sum(each.unanswered for each in several),
            [key for each in several for key in each.keys],
            [kind for each in several for kind in each.kinds],
        )

    def of_kind(self, kind: str) -> JudgedAnswers:
        """Return the answers for mentions of one type."""
        rows = [row for row, each in enumerate(self.kinds) if each == kind]
        return JudgedAnswers(
            self.answers.part(np.array(rows, dtype=np.int64)),
            [self.ranks[row] for row in rows],
            [self.documents[row] for row in rows],
            [self.types[row] for row in rows],
        )

    def fit(self) -> Calibration:
        """Fit a calibration to these answers."""
        return Calibration.fit(self.answers, self.ranks, self.documents, self.types)


def calibrate_pipeline(
    tasks: EvaluationTask | Sequence[EvaluationTask],
    pipeline: Pipeline,
    mentions: Mentions | None = None,
    types: Sequence[str] = (),
    *,
    by_type: bool = False,
) -> FittedCalibration:
    """Fit a calibration on a split of one or several datasets, which the pipeline must not have been trained on.

    `mentions` says which mentions are linked. `found` (the default) means the mentions that the pipeline detects in the raw
    texts; a detected mention that is not in gold is wrong. Concepts of semantic groups that a dataset does not annotate, such
    as chemicals in a corpus of diseases, are not linked there. `given` (the default without a detector) means the gold
    mentions. `terms` means the gold surfaces without their context, each once, like the cells of a table column.

    Documents shared by several datasets count once; documents in the test split of another dataset are left out. With
    `types`, only gold mentions of these annotated types are used, so `mentions` must be `given` or `terms`. For example, a
    disease vocabulary should be calibrated on disease mentions only.

    With `by_type`, each type of mentions with at least `MIN_OF_TYPE` answers has a calibration of its own too.
    """
    tasks = [tasks] if isinstance(tasks, EvaluationTask) else tasks
    for task in tasks:
        task.require_same_kb(pipeline.source())
    if mentions == "found" and pipeline.detector is None:
        what = "the pipeline has no detector, so it cannot find mentions in raw text"
        raise ConfigError("config-invalid", what, fix="build the pipeline with a detector, or add --mentions given")
    mentions = mentions or ("given" if pipeline.detector is None else "found")
    if types and mentions == "found":
        what = "detected mentions have no annotated type, so --type cannot be used with --mentions found"
        raise ConfigError("config-invalid", what, fix="use --mentions terms or --mentions given, or drop --type")
    pooled = pool_documents([task.dataset for task in tasks], tasks[0].split)
    pooled = [[_of_types(doc, types) for doc in gold] for gold in pooled] if types else pooled
    documents = [doc for gold in pooled for doc in gold]
    judging = distinct_terms(pooled) if mentions == "terms" else pooled
    judged = [_judge_pipeline(task, gold, pipeline, mentions) for task, gold in zip(tasks, judging, strict=True)]
    pool = JudgedAnswers.pool(judged)
    counts = Counter(pool.kinds) if by_type else {}
    return FittedCalibration(
        dataset=", ".join(task.dataset.name for task in tasks),
        split=tasks[0].split,
        digest=", ".join(task.dataset.digest for task in tasks),
        mentions=mentions,
        documents=len(documents),
        left_out=sum(1 for task in tasks for _ in task.texts()) - len(documents),
        gold=sum(bool(mention.concept_ids) for gold in judging for doc in gold for mention in doc.mentions),
        types=tuple(types) or None,
        calibration=pool.fit(),
        by_type={kind: pool.of_kind(kind).fit() for kind, count in sorted(counts.items()) if kind and count >= MIN_OF_TYPE},
    )


def _of_types(doc: Document, types: Sequence[str]) -> Document:
    return replace(doc, mentions=tuple(mention for mention in doc.mentions if mention.type in types))


def _judge_pipeline(task: EvaluationTask, gold: Sequence[Document], pipeline: Pipeline, mentions: Mentions) -> JudgedAnswers:
    """Return the answers of a pipeline without its thresholds, compared with gold."""
    bare = pipeline.with_precision(None).with_coverage(None).with_threshold(None).with_assertion(False)
    bare = bare.for_terms() if mentions == "terms" else bare
    if mentions == "found" and (groups := find_annotated_groups(gold, pipeline.kb)):
        bare = bare.with_types(groups)
    documents = map(without_annotations, gold) if mentions == "found" else gold
    linked = list(bare.link_many(documents))
    judged = judge_answers(task, gold, Predictions.of(predictions_of(linked), pipeline.source()), mentions)
    names = DocumentNames.of_documents(gold)
    kinds = {
        (names.of(each.document.key), link.mention.start, link.mention.end): link.mention.type
        for each in linked
        for link in each.links
    }
    return replace(judged, kinds=[kinds.get(key, "") for key in judged.keys])


def find_annotated_groups(gold: Sequence[Document], kb: KnowledgeBase) -> tuple[str, ...]:
    """Return the semantic groups of the gold concepts, without rare ones; empty if the knowledge base has no groups."""
    if not len(kb.groups):
        return ()
    ids = [concept_id for doc in gold for mention in doc.mentions for concept_id in mention.concept_ids]
    counts = Counter(kb.label_of(row)[1] for row in map(kb.concept_ids.find, ids) if row >= 0)
    return tuple(sorted(group for group, count in counts.items() if count >= _RARE * counts.total()))


def distinct_terms(pooled: Sequence[Sequence[Document]]) -> list[list[Document]]:
    """Return the annotated surfaces of several datasets as one-mention documents, without duplicates after normalisation.

    Each document has the concepts of the first mention with its surface, and no type, like a cell of a table.

    >>> fever, again = (Mention(start, start + 5, text, ("mesh:D005334",)) for start, text in ((0, "Fever"), (7, "fever")))
    >>> [[doc.text for doc in docs] for docs in distinct_terms([[Document("1", "Fever, fever.", (fever, again))]])]
    [['Fever']]
    """
    seen: set[str] = set()

    def terms(gold: Sequence[Document]) -> Iterator[Document]:
        for mention in (each for doc in gold for each in doc.mentions if each.concept_ids):
            term, name = mention.surface.strip(), normal_name(mention.surface)
            if name and name not in seen:
                seen.add(name)
                yield Document(str(len(seen)), term, (Mention(0, len(term), term, mention.concept_ids),))

    return [list(terms(gold)) for gold in pooled]


def judge_answers(
    task: EvaluationTask, gold: Sequence[Document], predictions: Predictions, mentions: Mentions
) -> JudgedAnswers:
    """Compare answers with gold under `strict`; with `mentions="found"`, mentions that are not in gold count as wrong."""
    names = DocumentNames.of_documents(gold)
    found = {own: predictions.mentions[key] for key, own in predictions.keys_to(names).items()}
    ranks, annotated = _ranks(task, gold, found, is_decided=predictions.is_decided), dict(_iter_gold(gold, names))
    surfaces = {names.of(doc.key): doc.text for doc in gold}
    judged = [key for key in found if mentions == "found" or key in ranks]
    keys = [key for key in judged if found[key].answers and not found[key].nil_reason]
    return JudgedAnswers(
        Answers.of(_answer(found[key], surfaces[key[0]], task.kb if mentions == "terms" else None) for key in keys),
        [ranks.get(key) for key in keys],
        [str(key[0]) for key in keys],
        [annotated[key].type if key in annotated else "" for key in keys],
        len(judged) - len(keys),
        keys,
    )


def _ranks(
    task: EvaluationTask, gold: Sequence[Document], found: Mapping[Key, Prediction], *, is_decided: bool
) -> dict[Key, int | None]:
    """Return the rank of gold of each annotated mention; composite mentions that were split into parts are left out."""

    def answers(key: Key) -> tuple[tuple[tuple[str, ...], float, int], ...]:
        return found[key].answers if key in found else ()

    names = DocumentNames.of_documents(gold)
    cases = gold_cases(gold, answers, task.resolver, is_decided=is_decided)
    judged = zip(cases, gold_ranks(cases, _CALIBRATION_PROTOCOL), strict=True)
    return {key_of(case, names): rank for case, rank in judged if len(case.mentions) == 1}


def _iter_gold(gold: Sequence[Document], names: DocumentNames) -> Iterator[tuple[Key, Mention]]:
    return (((names.of(doc.key), mention.start, mention.end), mention) for doc in gold for mention in doc.mentions)


def _answer(one: Prediction, text: str, kb: KnowledgeBase | None) -> ScoredAnswer:
    """Return an answer; with a knowledge base, also whether the surface is a name of the concept."""
    scores, surface = tuple(score for _, score, _ in one.answers[:2]), text[one.start : one.end]
    is_named = kb is not None and any(kb.is_name_of(concept_id, surface) for concept_id in one.answers[0][0])
    return ScoredAnswer.of(scores, one.tied or 0, len(surface), one.detection_score, is_named=is_named)
