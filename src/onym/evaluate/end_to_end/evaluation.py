"""Evaluation of a system that finds the mentions itself: figures by every end-to-end protocol, by mention type, and errors."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from onym.corpora.base import Item, documents_of
from onym.corpora.reading import is_loss
from onym.errors import InputError, shown_id
from onym.evaluate.coverage import Coverage, document_coverage, require_covered
from onym.evaluate.end_to_end.intervals import ScoresWithIntervals, score_all, score_with_intervals
from onym.evaluate.end_to_end.mistakes import EndToEndMistakes, find_mistakes
from onym.evaluate.end_to_end.protocols import NOT_IN_GOLD, require_end_to_end
from onym.evaluate.task import EvaluationTask
from onym.outputs.predictions import DocumentName, DocumentNames, Predictions
from onym.types import Document, Mention, Problem

UNREADABLE = "predicted mentions or documents that could not be read"


@dataclass(frozen=True, slots=True)
class TypeScore:
    """Recall of the gold mentions of one type, with its 95 % confidence interval.

    There is no precision by type: a predicted mention has no gold type, and its own type may follow another scheme.
    """

    type: str
    gold: int
    recall: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class EndToEndEvaluation:
    """All figures of a system on a split. `by_type` is scored by `protocol`; `in_kb` counts the gold ids in the KB.

    `coverage` says how many of the documents the system has read; the mentions of the others are missed.
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
        """The system and the dataset, as in `dictionary + exact on bc5cdr (test)`."""
        dataset = self.manifest["dataset"]
        return f"{self.system} on {dataset['name']} ({dataset['split']})"

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain values, without any mention."""
        return {
            "protocol": self.protocol,
            **self.results[self.protocol].as_dict(),
            "protocols": {name: result.as_dict() for name, result in self.results.items()},
            "by_type": [asdict(score) for score in self.by_type],
            "errors": self.mistakes.counts,
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
    """Score predicted mentions and concepts: predictions of a pipeline, or documents with predicted mentions.

    Predictions that lack documents, or repeat some, are refused unless `allow_partial` is set.
    """
    require_end_to_end(protocol)  # an unknown one is refused before the work
    gold = list(task.dataset.documents(task.split))
    source = predicted.source if isinstance(predicted, Predictions) else {}
    task.require_same_kb(source)
    predicted = predicted if isinstance(predicted, Predictions) else list(predicted)
    coverage = document_coverage(gold, predicted)
    require_covered(coverage, task.title, allow_partial=allow_partial)
    aligned, left_out = _align(gold, predicted)
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
        left_out=task.dropped | results[protocol].scores.left_out | left_out,
        manifest=task.manifest(source),
    )


def predicted_documents(gold: Iterable[Document], predictions: Predictions) -> list[Document]:
    """Return the gold documents with predicted mentions instead: the best answer of each, none where it was left unlinked.

    >>> from onym.outputs.predictions import Prediction
    >>> made = Predictions.of([Prediction("1", 0, 5, ((("mesh:D005334",), 1.0, 0),))], {})
    >>> [doc] = predicted_documents([Document("1", "fever")], made)
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
    """Return the detector and linker that predictions came from.

    >>> system_name({"detector": {"detector": "dictionary"}, "linker": {"linker": "exact"}})
    'dictionary + exact'
    """
    parts = [part.get(name, "") for name in ("detector", "linker") if isinstance(part := source.get(name), dict)]
    return " + ".join(filter(None, parts)) or "unknown system"


def _align(gold: Sequence[Document], predicted: Predictions | Sequence[Item]) -> tuple[list[Document], dict[str, int]]:
    """Return a predicted document for each gold one, in order, and what is not scored, by reason."""
    unreadable = 0
    if isinstance(predicted, Predictions):
        aligned = predicted_documents(gold, predicted)
        mentions = Counter(one.document_id for one in predicted)
    else:
        found = list(documents_of(predicted))
        aligned = _aligned_documents(gold, found)
        mentions = Counter()
        for doc in found:
            mentions[doc.id] += len(doc.mentions)
        unreadable = sum(isinstance(item, Problem) and is_loss(item) for item in predicted)
    other = mentions.keys() - {doc.id for doc in gold}
    counts = {NOT_IN_GOLD: sum(mentions[doc_id] for doc_id in other), UNREADABLE: unreadable}
    return aligned, {reason: count for reason, count in counts.items() if count}


def _aligned_documents(gold: Sequence[Document], predicted: Iterable[Document]) -> list[Document]:
    """Return a predicted document for each gold one: of the same id, and of the same text where several have that id."""
    counts = Counter(doc.id for doc in gold)
    texts = {(doc.id, doc.text) for doc in gold}
    waiting: dict[tuple[str, str], deque[Document]] = defaultdict(deque)
    for doc in predicted:
        if counts[doc.id] > 1 and (doc.id, doc.text) not in texts:
            what, fix = "a predicted document has another text than the gold documents of its id", "predict on their text"
            raise InputError("text-differs", what, where=f"document {shown_id(doc.id)}", fix=fix)
        waiting[doc.id, doc.text if counts[doc.id] > 1 else ""].append(doc)
    aligned = []
    for doc in gold:
        found = waiting[doc.id, doc.text if counts[doc.id] > 1 else ""]
        aligned.append(replace(found.popleft(), source=doc.source, ordinal=doc.ordinal) if found else _bare(doc))
    return aligned


def _by_type(
    gold: Sequence[Document], predicted: Sequence[Document], protocol: str, task: EvaluationTask
) -> tuple[TypeScore, ...]:
    """Score the gold mentions of each type, the most frequent type first."""
    scores = []
    for each in sorted({mention.type for doc in gold for mention in doc.mentions}):
        own = [replace(doc, mentions=tuple(m for m in doc.mentions if m.type == each), relations=()) for doc in gold]
        result = score_with_intervals(own, predicted, protocol, task.resolver.canonical)
        scores.append(TypeScore(each, result.scores.gold, result.scores.recall, *result.recall))
    return tuple(sorted(scores, key=lambda score: (-score.gold, score.type)))
