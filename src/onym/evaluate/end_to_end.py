"""End-to-end evaluation of systems that both detect and link mentions.

Computes micro-averaged precision, recall and F1 under every protocol, with 95 % confidence intervals (percentile bootstrap over
documents), recall by mention type, and errors by kind. `compare_end_to_end` compares the F1 of two systems.

An *item* is a (document, span, concept) triple: a composite mention gives one item per concept, and duplicate items count once.
The span of a discontinuous mention runs from its first to its last fragment.

| protocol | credit of an item |
|---|---|
| `bhowmik-strict` | 1 if the other side has the same document, start, end and concept |
| `bhowmik-partial` | 1 if the other side has the same concept at a span that overlaps by at least one character |
| `neleval-overlap-maxmax` | the share of its characters covered by the best overlapping span of the same concept |
| `document` | items are (document, concept) pairs without spans: 1 if the other side has the same pair |

Precision is the mean credit of the predicted items, recall the mean credit of the gold items. Items are not aligned one to one:
two predictions of the right concept inside one gold mention are both right, but the gold mention is found once. So `right` and
`found` can differ, and both are reported. `neleval-overlap-maxmax` is the measure `overlap-maxmax::span+kbid` of neleval, which
Bhowmik et al. and MedType used for their partial scores, although their papers describe `bhowmik-partial`. neleval scans both
lists of spans once, so it may miss the best span if gold or predicted spans of one concept overlap; we compare every pair.

Not scored: gold mentions without a concept (`-1` in some corpora), predictions without a concept, and predictions in documents
that are not in the gold data. A prediction with a concept at a gold mention without a concept is wrong. The `document` protocol
scores published documents: if the preparation split an article into passages, the passages of an article count as one document.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from onym.corpora.base import Item, documents_of
from onym.corpora.reading import is_loss
from onym.datasets.overlap import corpus_document
from onym.errors import ConfigError, InputError, format_id
from onym.evaluate.cases import CanonicalId
from onym.evaluate.coverage import Coverage, document_coverage, require_coverage
from onym.evaluate.evaluation import require_comparable
from onym.evaluate.mistakes import EndToEndMistakes, find_mistakes
from onym.evaluate.significance import PairedBootstrap, bootstrap_paired_sums, draw_sums, percentiles
from onym.evaluate.task import EvaluationTask, describe_split
from onym.evaluate.types import drop_other_types
from onym.outputs.predictions import DocumentName, DocumentNames, Predictions
from onym.types import Document, Mention, Problem

Offsets = tuple[int, int]
Spans = dict[tuple[DocumentName, str], set[Offsets]]
"""The spans of each (document, concept) pair."""
Credit = Callable[[Offsets, set[Offsets]], float]
"""The credit of an item, from 0 to 1, given the spans of the same concept in the same document on the other side."""
Interval = tuple[float, float]
_Named = tuple[DocumentName, Document]
_Floats = npt.NDArray[np.float64]

DOCUMENT = "document"
_ANYWHERE: Offsets = (0, 0)  # dummy span of all mentions for the `document` protocol, which ignores spans
NOT_IN_GOLD = "predicted mentions in documents that the gold does not have"
UNREADABLE = "predicted mentions or documents that could not be read"
REPLICATES = 2_000
"""The number of bootstrap replicates."""


@dataclass(frozen=True, slots=True)
class EndToEndScores:
    """Counts under one protocol, with precision, recall and F1 (0 if there are no items).

    `right` is the total credit of the predicted items, `found` the total credit of the gold items.
    """

    protocol: str
    gold: int
    predicted: int
    right: float
    found: float
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def precision(self) -> float:
        """The share of the predicted items that are right."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold items that were found."""
        return self.found / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def score_end_to_end(
    gold: Iterable[Document], predicted: Iterable[Document], name: str = "bhowmik-strict", canonical: CanonicalId = str
) -> EndToEndScores:
    """Score predicted mentions and their concepts against the gold mentions of the same documents.

    >>> from onym.types import Mention
    >>> gold = Document("1", "high fever", (Mention(0, 10, "high fever", ("mesh:D005334",)),))
    >>> predicted = Document("1", "high fever", (Mention(5, 10, "fever", ("mesh:D005334",)),))
    >>> [score_end_to_end([gold], [predicted], name).recall for name in END_TO_END]
    [0.0, 1.0, 0.5, 1.0]
    """
    require_end_to_end(name)
    credit = END_TO_END[name]
    gold = list(gold)
    names = DocumentNames.of_documents(gold)
    articles = {names.of(doc.key): corpus_document(doc) for doc in gold} if name == DOCUMENT else None
    texts = {names.of(doc.key): doc.text for doc in gold}
    left_out: Counter[str] = Counter()
    gold_items = ((names.of(doc.key), doc) for doc in gold)
    gold_spans = _spans(gold_items, canonical, left_out, "gold mentions without a concept", articles)
    in_gold = _documents_in_gold(((names.of(doc.key), doc) for doc in predicted), texts, left_out)
    predicted_spans = _spans(in_gold, canonical, left_out, "predicted mentions without a concept", articles)
    return EndToEndScores(
        protocol=name,
        gold=sum(map(len, gold_spans.values())),
        predicted=sum(map(len, predicted_spans.values())),
        right=_total(predicted_spans, gold_spans, credit),
        found=_total(gold_spans, predicted_spans, credit),
        left_out={reason: count for reason, count in left_out.items() if count},
    )


def require_end_to_end(name: str) -> None:
    """Raise ConfigError if the protocol is unknown."""
    if name not in END_TO_END:
        known = ", ".join(END_TO_END)
        raise ConfigError("protocol-unknown", f"unknown end-to-end protocol {name!r}", fix=f"use one of {known}")


def _documents_in_gold(
    predicted: Iterable[_Named], texts: Mapping[DocumentName, str], left_out: Counter[str]
) -> Iterable[_Named]:
    for name, doc in predicted:
        if name not in texts:
            left_out[NOT_IN_GOLD] += len(doc.mentions)
        elif doc.text != texts[name]:
            what = "the text of the predicted document differs from the gold text, so offsets do not match"
            where, fix = f"document {format_id(doc.id)}", "predict on the text of the gold document"
            raise InputError("text-differs", what, where=where, fix=fix)
        else:
            yield name, doc


def _spans(
    documents: Iterable[_Named],
    canonical: CanonicalId,
    left_out: Counter[str],
    reason: str,
    articles: Mapping[DocumentName, str] | None,
) -> Spans:
    """Return the spans of each (document, concept) pair; with `articles`, a dummy span for each (article, concept) pair."""
    spans: Spans = defaultdict(set)
    for name, doc in documents:
        for mention in doc.mentions:
            left_out[reason] += not mention.concept_ids
            for concept_id in mention.concept_ids:
                item = (mention.start, mention.end) if articles is None else _ANYWHERE
                spans[name if articles is None else articles[name], canonical(concept_id)].add(item)
    return spans


def _total(items: Spans, others: Spans, credit: Credit) -> float:
    return sum(credit(span, others[key]) for key, spans in items.items() if key in others for span in spans)


def _strict(span: Offsets, others: set[Offsets]) -> float:
    return float(span in others)


def _partial(span: Offsets, others: set[Offsets]) -> float:
    return float(_overlap(span, others) > 0)


def _max_overlap(span: Offsets, others: set[Offsets]) -> float:
    return _overlap(span, others) / (span[1] - span[0])


def _overlap(span: Offsets, others: set[Offsets]) -> int:
    """Return the largest overlap, in characters, of a span with any span in `others`."""
    if span in others:
        return span[1] - span[0]
    start, end = span
    return max(0, *(min(end, other_end) - max(start, other_start) for other_start, other_end in others))


END_TO_END: dict[str, Credit] = {
    "bhowmik-strict": _strict,
    "bhowmik-partial": _partial,
    "neleval-overlap-maxmax": _max_overlap,
    DOCUMENT: _strict,
}
"""All end-to-end protocols; the first is the default."""


@dataclass(frozen=True, slots=True)
class ScoresWithIntervals:
    """The scores of one protocol, with confidence intervals of precision, recall and F1.

    `counts` has a row for each document of the published corpus: right, predicted, found, gold.
    """

    scores: EndToEndScores
    precision: Interval
    recall: Interval
    f1: Interval
    counts: _Floats = field(default_factory=lambda: np.zeros((0, 4)), compare=False, repr=False)

    @property
    def shares(self) -> dict[str, tuple[float, Interval]]:
        """Precision, recall and F1, each with its interval."""
        scores = self.scores
        return {
            "precision": (scores.precision, self.precision),
            "recall": (scores.recall, self.recall),
            "F1": (scores.f1, self.f1),
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the scores and intervals as plain values."""
        values: dict[str, Any] = {}
        for name, (share, interval) in self.shares.items():
            values |= {name.lower(): share, f"{name.lower()}_interval": list(interval)}
        scores = self.scores
        return {**values, "gold": scores.gold, "predicted": scores.predicted, "right": scores.right, "found": scores.found}


def score_all(
    gold: Sequence[Document], predicted: Sequence[Document], canonical: CanonicalId = str
) -> dict[str, ScoresWithIntervals]:
    """Score documents under every end-to-end protocol; `predicted` must be in the order of `gold`.

    >>> from onym.types import Mention
    >>> doc = Document("1", "high fever", (Mention(5, 10, "fever", ("mesh:D005334",)),))
    >>> score_all([doc], [doc])["bhowmik-strict"].f1
    (1.0, 1.0)
    """
    return {name: score_with_intervals(gold, predicted, name, canonical) for name in END_TO_END}


def score_with_intervals(
    gold: Sequence[Document], predicted: Sequence[Document], name: str, canonical: CanonicalId = str
) -> ScoresWithIntervals:
    """Score predicted documents under one protocol, with confidence intervals."""
    scores = score_end_to_end(gold, predicted, name, canonical)
    articles: dict[str, tuple[list[Document], list[Document]]] = defaultdict(lambda: ([], []))
    for gold_doc, predicted_doc in zip(gold, predicted, strict=True):
        of_gold, of_predicted = articles[corpus_document(gold_doc)]
        of_gold.append(gold_doc)
        of_predicted.append(predicted_doc)
    rows = [_counts(score_end_to_end(*both, name, canonical)) for both in articles.values()]
    counts = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return ScoresWithIntervals(scores, *bootstrap_intervals(counts), counts)


def _counts(scores: EndToEndScores) -> tuple[float, float, float, float]:
    return scores.right, scores.predicted, scores.found, scores.gold


def bootstrap_intervals(counts: _Floats, replicates: int = REPLICATES, seed: int = 0) -> tuple[Interval, Interval, Interval]:
    """Return bootstrap confidence intervals of precision, recall and F1.

    `counts` has one row per document, with the columns right, predicted, found, gold. Without rows the intervals are (0, 1).

    >>> bootstrap_intervals(np.array([[1.0, 1.0, 1.0, 2.0]]))[:2]
    ((1.0, 1.0), (0.5, 0.5))
    """
    if not len(counts):
        return (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)
    precision, recall, f1 = shares_of_counts(draw_sums(counts, replicates, np.random.default_rng(seed)))
    return percentiles(precision), percentiles(recall), percentiles(f1)


def shares_of_counts(counts: _Floats) -> tuple[_Floats, _Floats, _Floats]:
    """Return precision, recall and F1 of each row of counts: right, predicted, found, gold."""
    right, predicted, found, gold = counts.T
    precision, recall = right / np.maximum(predicted, 1), found / np.maximum(gold, 1)
    return precision, recall, 2 * precision * recall / np.where(precision + recall > 0, precision + recall, 1)


@dataclass(frozen=True, slots=True)
class TypeScore:
    """Recall of the gold mentions of one type, with its 95 % confidence interval.

    There is no precision by type: predicted mentions have no gold type, and their predicted types may be defined differently.
    """

    type: str
    gold: int
    recall: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class EndToEndEvaluation:
    """All scores of a system on a split. `by_type` uses `protocol`; `in_kb` counts gold mentions whose ids are all in the KB.

    `coverage` counts the documents that the system has processed; in all other documents, every mention counts as missed.
    """

    system: str
    protocol: str
    results: dict[str, ScoresWithIntervals]
    by_type: tuple[TypeScore, ...]
    mistakes: EndToEndMistakes
    documents: int
    mentions: int
    in_kb: int
    coverage: Coverage
    left_out: dict[str, int]
    manifest: dict[str, Any]

    @property
    def title(self) -> str:
        """The system and the dataset, e.g. `dictionary + exact on bc5cdr (test)`."""
        return f"{self.system} on {self.manifest['dataset']['name']} ({describe_split(self.manifest)})"

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain values, without any mention text."""
        return {
            "protocol": self.protocol,
            **self.results[self.protocol].as_dict(),
            "protocols": {name: result.as_dict() for name, result in self.results.items()},
            "types": [score.type for score in self.by_type],
            "by_type": [asdict(score) for score in self.by_type],
            "errors": self.mistakes.counts,
            **({"near_misses": near.as_dict()} if (near := self.mistakes.near_misses) else {}),
            "documents": self.documents,
            "mentions": self.mentions,
            "in_kb": self.in_kb,
            "coverage": self.coverage.as_dict(),
            "left_out": self.left_out,
            "manifest": self.manifest,
        }


def evaluate_end_to_end(
    task: EvaluationTask,
    predicted: Predictions | Iterable[Item],
    *,
    protocol: str = "bhowmik-strict",
    system: str = "",
    allow_partial: bool = False,
) -> EndToEndEvaluation:
    """Score the predictions of a pipeline, or documents with predicted mentions.

    Predictions with missing or repeated documents are rejected unless `allow_partial` is set.
    """
    require_end_to_end(protocol)  # raise before scoring if the protocol is unknown
    gold = task.gold()
    source = predicted.source if isinstance(predicted, Predictions) else {}
    task.require_same_kb(source)
    predicted = predicted if isinstance(predicted, Predictions) else list(predicted)
    coverage = document_coverage(gold, predicted)
    require_coverage(coverage, task.title, allow_partial=allow_partial)
    aligned, left_out = _align(gold, predicted)
    aligned, other = drop_other_types(task, aligned)
    canonical = task.resolver.canonical
    results = score_all(gold, aligned, canonical)
    mentions = [mention for doc in gold for mention in doc.mentions]
    return EndToEndEvaluation(
        system=system or system_name(source),
        protocol=protocol,
        results=results,
        by_type=_by_type(gold, aligned, protocol, task),
        mistakes=find_mistakes(gold, aligned, task.kb, canonical),
        documents=len(gold),
        mentions=len(mentions),
        in_kb=sum(map(task.resolver.is_in_kb, mentions)),
        coverage=coverage,
        left_out=task.drop_counts | results[protocol].scores.left_out | left_out | other,
        manifest=task.manifest(source),
    )


def merge_predictions(gold: Iterable[Document], predictions: Predictions) -> list[Document]:
    """Return the gold documents with the predicted mentions, each with its best answer (no concept if unlinked).

    >>> from onym.outputs.predictions import Prediction
    >>> made = Predictions.of([Prediction("1", 0, 5, ((("mesh:D005334",), 1.0, 0),))], {})
    >>> [doc] = merge_predictions([Document("1", "fever")], made)
    >>> doc.mentions[0].concept_ids
    ('mesh:D005334',)
    """
    gold = list(gold)
    names = DocumentNames.of_documents(gold)
    texts = {names.of(doc.key): doc.text for doc in gold}
    mentions: dict[DocumentName, list[Mention]] = defaultdict(list)
    for (name, start, end), answers in predictions.answers_to(names).items():
        if name in texts:
            mentions[name].append(Mention(start, end, texts[name][start:end], answers[0][0] if answers else ()))
    return [_bare(doc, tuple(mentions[names.of(doc.key)])) for doc in gold]


def _bare(doc: Document, mentions: tuple[Mention, ...] = ()) -> Document:
    return Document(doc.id, doc.text, mentions, source=doc.source, ordinal=doc.ordinal)


def system_name(source: dict[str, Any]) -> str:
    """Return the names of the detector and linker that made the predictions.

    >>> system_name({"detector": {"detector": "dictionary"}, "linker": {"linker": "exact"}})
    'dictionary + exact'
    """
    parts = [part.get(name, "") for name in ("detector", "linker") if isinstance(part := source.get(name), dict)]
    return " + ".join(filter(None, parts)) or "unknown system"


def _align(gold: Sequence[Document], predicted: Predictions | Sequence[Item]) -> tuple[list[Document], dict[str, int]]:
    """Return one predicted document per gold document, in order, and the number of mentions not scored, by reason."""
    unreadable = 0
    if isinstance(predicted, Predictions):
        aligned = merge_predictions(gold, predicted)
        mentions = Counter(one.document_id for one in predicted)
    else:
        found = list(documents_of(predicted))
        aligned = _align_documents(gold, found)
        mentions = Counter()
        for doc in found:
            mentions[doc.id] += len(doc.mentions)
        unreadable = sum(isinstance(item, Problem) and is_loss(item) for item in predicted)
    other = mentions.keys() - {doc.id for doc in gold}
    counts = {NOT_IN_GOLD: sum(mentions[doc_id] for doc_id in other), UNREADABLE: unreadable}
    return aligned, {reason: count for reason, count in counts.items() if count}


def _align_documents(gold: Sequence[Document], predicted: Iterable[Document]) -> list[Document]:
    """Return the predicted document of each gold document, matched by id; if several have the same id, also by text."""
    counts = Counter(doc.id for doc in gold)
    texts = {(doc.id, doc.text) for doc in gold}
    waiting: dict[tuple[str, str], deque[Document]] = defaultdict(deque)
    for doc in predicted:
        if counts[doc.id] > 1 and (doc.id, doc.text) not in texts:
            what, fix = "the text differs from every gold document with this id", "predict on the text of the gold documents"
            raise InputError("text-differs", what, where=f"document {format_id(doc.id)}", fix=fix)
        waiting[doc.id, doc.text if counts[doc.id] > 1 else ""].append(doc)
    aligned = []
    for doc in gold:
        found = waiting[doc.id, doc.text if counts[doc.id] > 1 else ""]
        aligned.append(replace(found.popleft(), source=doc.source, ordinal=doc.ordinal) if found else _bare(doc))
    return aligned


def _by_type(
    gold: Sequence[Document], predicted: Sequence[Document], protocol: str, task: EvaluationTask
) -> tuple[TypeScore, ...]:
    """Return the recall of each gold mention type, most frequent type first."""
    scores = []
    for each in sorted({mention.type for doc in gold for mention in doc.mentions}):
        own = [replace(doc, mentions=tuple(m for m in doc.mentions if m.type == each), relations=()) for doc in gold]
        result = score_with_intervals(own, predicted, protocol, task.resolver.canonical)
        scores.append(TypeScore(each, result.scores.gold, result.scores.recall, *result.recall))
    return tuple(sorted(scores, key=lambda score: (-score.gold, score.type)))


@dataclass(frozen=True, slots=True)
class EndToEndComparison:
    """The difference in F1 between two systems. `shares` maps precision, recall and F1 to a pair of values (first, second).

    `types` are the annotated types that are scored; empty means all. `by_type` holds the number of gold items and both recalls
    of each type. `coverage` holds the document coverage of both systems.
    """

    protocol: str
    documents: int
    types: tuple[str, ...]
    shares: dict[str, tuple[float, float]]
    coverage: tuple[Coverage, Coverage]
    bootstrap: PairedBootstrap
    by_type: dict[str, tuple[int, float, float]]

    @property
    def first(self) -> float:
        """F1 of the first system."""
        return self.shares["F1"][0]

    @property
    def second(self) -> float:
        """F1 of the second system."""
        return self.shares["F1"][1]

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values; `first` and `second` are the F1 scores."""
        own = {"measure": "f1", "first": self.first, "second": self.second}
        shares = {name.lower(): list(both) for name, both in self.shares.items()}
        return asdict(self) | own | {"shares": shares, "coverage": [each.as_dict() for each in self.coverage]}


def compare_end_to_end(first: EndToEndEvaluation, second: EndToEndEvaluation) -> EndToEndComparison:
    """Compare two evaluations; raise ConfigError unless split, protocol and types are the same."""
    require_comparable(first, second)
    one, other = (each.results[each.protocol] for each in (first, second))
    recalls = {score.type: score.recall for score in second.by_type}
    return EndToEndComparison(
        protocol=first.protocol,
        documents=first.documents,
        types=tuple(first.manifest["types_scored"]),
        shares={name: (share, other.shares[name][0]) for name, (share, _) in one.shares.items()},
        coverage=(first.coverage, second.coverage),
        bootstrap=bootstrap_paired_sums(one.counts, other.counts, lambda sums: shares_of_counts(sums)[2]),
        by_type={each.type: (each.gold, each.recall, recalls[each.type]) for each in first.by_type},
    )
