"""How much of a split the predictions cover. Reported with every score; incomplete predictions are rejected by default.

Annotated mentions: a mention is covered if the predictions have a line for it, even a line with an empty list of answers (which
is scored as wrong). End to end: a document is covered if the predictions have a line for a mention in it, or a line saying that
it has no mentions. If the predictions are a corpus, the documents in that corpus are covered.

Mentions and documents that are not covered count as wrong. `failed` is the number of these for which the predictions record a
problem. `repeated` counts second and later lines for the same mention, or documents with the same id; only the first is scored.
`not_in_gold` counts predicted mentions or documents outside the split. They are ignored but not rejected, because predictions
may cover more than one split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from onym.corpora.base import Item
from onym.errors import ConfigError, InputError, format_id
from onym.outputs.predictions import DocumentName, DocumentNames, Predictions
from onym.types import Document, Problem


@dataclass(frozen=True, slots=True)
class Coverage:
    """Counts of gold mentions or documents that have predictions, and of failed, repeated and extra predictions.

    >>> Coverage("mentions", gold=960, covered=1, repeated=2).note
    '1 of 960 mentions predicted, 2 repeated'
    """

    unit: Literal["mentions", "documents"]
    gold: int
    covered: int
    failed: int = 0
    repeated: int = 0
    not_in_gold: int = 0

    @property
    def missing(self) -> int:
        """The number of gold mentions or documents without a prediction."""
        return self.gold - self.covered

    @property
    def is_whole(self) -> bool:
        """Whether every gold mention or document is predicted exactly once."""
        return not self.missing and not self.repeated

    @property
    def note(self) -> str:
        """A summary of missing, failed, repeated and extra predictions; empty if all of these counts are 0."""
        parts = (
            (self.missing, f"{self.covered:,} of {self.gold:,} {self.unit} predicted"),
            (self.failed, f"{self.failed:,} recorded as a problem"),
            (self.repeated, f"{self.repeated:,} repeated"),
            (self.not_in_gold, f"{self.not_in_gold:,} not in the gold"),
        )
        return ", ".join(part for count, part in parts if count)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, for JSON."""
        return asdict(self) | {"is_whole": self.is_whole}


def mention_coverage(gold: Iterable[Document], predictions: Predictions) -> Coverage:
    """Return the coverage of annotated mentions: how many have a prediction.

    >>> from onym.types import Mention
    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> mention_coverage([doc], Predictions.of([], {})).note
    '0 of 1 mentions predicted'
    """
    gold = list(gold)
    names = DocumentNames.of_documents(gold)
    keys = [((names.of(doc.key), each.start, each.end), doc, bool(each.concept_ids)) for doc in gold for each in doc.mentions]
    times, wanted = Counter(key for key, _, _ in keys), [(key, doc) for key, doc, has_id in keys if has_id]
    own = predictions.keys_to(names)
    found = set(own.values())
    lost = {problem.document_id for problem in predictions.problems}
    missing = [doc for key, doc in wanted if key not in found]
    return Coverage(
        unit="mentions",
        gold=len(wanted),
        covered=len(wanted) - len(missing),
        failed=sum(format_id(doc.id) in lost for doc in missing),
        # A corpus may annotate a span twice; then two predictions for it are expected.
        repeated=sum(max(0, extra - max(0, times[own[key]] - 1)) for key, extra in predictions.repeated.items()),
        not_in_gold=len(found - times.keys()),
    )


def document_coverage(gold: Iterable[Document], predicted: Predictions | Sequence[Item]) -> Coverage:
    """Return the coverage of documents: how many an end-to-end system has processed.

    >>> document_coverage([Document("1", "fever"), Document("2", "cough")], [Document("1", "fever")]).note
    '1 of 2 documents predicted'
    """
    gold = list(gold)
    if isinstance(predicted, Predictions):
        names = DocumentNames.of_documents(gold)
        lost = {problem.document_id for problem in predicted.problems}
        keys = {key for key in predicted.document_keys if format_id(key[0]) not in lost}
        read: Counter[DocumentName] = Counter({names.match(key, predicted.names): 1 for key in keys})
        wanted: Counter[DocumentName] = Counter(names.of(doc.key) for doc in gold)
        repeated = predicted.repeated.total()
    else:
        ids = [item.id for item in predicted if isinstance(item, Document)]
        lost = {item.document_id for item in predicted if isinstance(item, Problem)} - {*map(format_id, ids)}
        read, wanted = Counter(ids), Counter(doc.id for doc in gold)
        repeated = sum(max(0, count - max(1, wanted[name])) for name, count in read.items())
    failed = sum(format_id(doc.id) in lost for doc in gold)
    return Coverage("documents", len(gold), (wanted & read).total(), failed, repeated, len(read.keys() - wanted.keys()))


def require_coverage(coverage: Coverage, title: str, *, allow_partial: bool = False) -> None:
    """Reject predictions for other documents. Missing or repeated predictions are rejected too, except with `allow_partial`."""
    if not coverage.covered and not coverage.failed and coverage.not_in_gold:
        what = f"none of the {coverage.gold:,} {coverage.unit} of {title} has a prediction"
        raise ConfigError("predictions-other", what, fix="pass predictions made for this dataset and split")
    if allow_partial:
        return
    what = f"{title}: {coverage.note}"
    if coverage.missing:
        fix = "predict the missing ones too, or count them as wrong with --allow-partial"
        raise InputError("predictions-partial", what, fix=fix)
    if coverage.repeated:
        fix = "remove the repeated predictions, or score only the first of each with --allow-partial"
        raise InputError("predictions-repeated", what, fix=fix)
