"""How much of a split the predictions cover. Every figure says so, and predictions that do not cover all of it are refused.

Annotated mentions: a mention is covered if the predictions have a line for it. An empty list of answers is an answer, and
wrong. End to end: a document is covered if the predictions have a line of a mention in it, or one that says that it has none.
Of a corpus with predicted mentions, the documents in it are covered.

What is not covered counts as wrong. `failed` counts what of it is recorded as a problem. `repeated` counts lines for a mention
that has one already, or documents with the id of an earlier one: the first counts. `not_in_gold` counts predicted mentions or
documents that the split does not have. They are not scored, and no reason to refuse: the predictions of another system may be
for more than one split.
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
    """How many of the gold mentions or documents are predicted, and what else the predictions hold.

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
        """How many are not covered."""
        return self.gold - self.covered

    @property
    def is_whole(self) -> bool:
        """True where everything is predicted, and once."""
        return not self.missing and not self.repeated

    @property
    def note(self) -> str:
        """What a reader of the figures has to know; empty where everything is predicted, once, and nothing else."""
        parts = (
            (self.missing, f"{self.covered:,} of {self.gold:,} {self.unit} predicted"),
            (self.failed, f"{self.failed:,} recorded as a problem"),
            (self.repeated, f"{self.repeated:,} repeated"),
            (self.not_in_gold, f"{self.not_in_gold:,} not in the gold"),
        )
        return ", ".join(part for count, part in parts if count)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"is_whole": self.is_whole}


def mention_coverage(gold: Iterable[Document], predictions: Predictions) -> Coverage:
    """Return how many of the annotated mentions have a prediction.

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
        # A corpus may annotate a span twice; then there are two predictions for it.
        repeated=sum(max(0, extra - max(0, times[own[key]] - 1)) for key, extra in predictions.repeated.items()),
        not_in_gold=len(found - times.keys()),
    )


def document_coverage(gold: Iterable[Document], predicted: Predictions | Sequence[Item]) -> Coverage:
    """Return how many of the documents were read by a system that finds the mentions itself.

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
    """Refuse predictions of other documents; without `allow_partial` also those that are not whole. `title` is the split's."""
    if not coverage.covered and not coverage.failed and coverage.not_in_gold:
        what = f"none of the {coverage.gold:,} {coverage.unit} of {title} has a prediction"
        raise ConfigError("predictions-other", what, fix="give the predictions for these documents and this split")
    if allow_partial:
        return
    what = f"{title}: {coverage.note}"
    if coverage.missing:
        fix = "predict the rest; or score them as they are, the missing ones as wrong, with --allow-partial"
        raise InputError("predictions-partial", what, fix=fix)
    if coverage.repeated:
        fix = "keep one of them; or score the first of each with --allow-partial"
        raise InputError("predictions-repeated", what, fix=fix)
