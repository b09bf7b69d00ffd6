"""Figures for systems that find the mentions themselves: precision, recall and F1 over all documents together (micro).

An *item* is a span of a document and one concept that it means: a composite mention is one item for each of its concepts,
and the same item twice counts once. Spans are those of whole mentions, their fragments together.

| protocol | credit of an item |
|---|---|
| `bhowmik-strict` | 1 where the other side has the same document, start, end and concept |
| `bhowmik-partial` | 1 where the other side has the same concept at a span that overlaps, by one character or more |
| `neleval-overlap-maxmax` | the share of its characters that the best such span of the other side covers |

Precision is the mean credit of the predicted items, recall that of the gold ones. Nothing is paired off: two predictions of
the right concept inside one gold mention are both right, and the gold mention is found once; `right` and `found` therefore
differ, and both are told. `neleval-overlap-maxmax` is the measure `overlap-maxmax::span+kbid` of neleval, by which Bhowmik and
others and MedType obtained their partial figures; their papers describe `bhowmik-partial`. neleval itself walks both lists of
spans once, and may miss the best span where spans of one concept on one side overlap each other; here every pair is looked at.

Gold mentions without a concept (`-1` in some corpora) are left out, and so are predictions without one; a prediction that has
a concept where the gold mention has none is wrong. Predictions in documents that the gold does not have are left out too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from onym.errors import ConfigError, InputError
from onym.evaluate.cases import Same
from onym.types import Document

Span = tuple[int, int]
Spans = dict[tuple[str, str], set[Span]]
"""The spans of a concept in a document."""
Credit = Callable[[Span, set[Span]], float]
"""How much of an item the spans of the other side, of the same document and concept, give right: from 0 to 1."""


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """The counts of one protocol, and the shares that follow from them; nothing to judge gives zeros.

    `right` is the credit of the predicted items together, `found` that of the gold ones.
    """

    protocol: str
    gold: int
    predicted: int
    right: float
    found: float
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def precision(self) -> float:
        """The share of what was predicted that is right."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold that was found."""
        return self.found / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def score_end_to_end(
    gold: Iterable[Document], predicted: Iterable[Document], name: str = "bhowmik-strict", same: Same = str
) -> EndToEnd:
    """Judge predicted mentions and concepts against the gold ones of the same documents.

    >>> from onym.types import Mention
    >>> gold = Document("1", "high fever", (Mention(0, 10, "high fever", ("mesh:D005334",)),))
    >>> predicted = Document("1", "high fever", (Mention(5, 10, "fever", ("mesh:D005334",)),))
    >>> [score_end_to_end([gold], [predicted], name).recall for name in END_TO_END]
    [0.0, 1.0, 0.5]
    """
    credit = _credit(name)
    gold = list(gold)
    texts = {doc.id: doc.text for doc in gold}
    left_out: Counter[str] = Counter()
    wanted = _spans(gold, same, left_out, "gold mentions without a concept")
    given = _spans(_judged(predicted, texts, left_out), same, left_out, "predicted mentions without a concept")
    return EndToEnd(
        protocol=name,
        gold=sum(map(len, wanted.values())),
        predicted=sum(map(len, given.values())),
        right=_total(given, wanted, credit),
        found=_total(wanted, given, credit),
        left_out={reason: count for reason, count in left_out.items() if count},
    )


def _credit(name: str) -> Credit:
    if name not in END_TO_END:
        known = ", ".join(END_TO_END)
        raise ConfigError("protocol-unknown", f"no end-to-end protocol is named {name!r}", fix=f"the names are {known}")
    return END_TO_END[name]


def _judged(predicted: Iterable[Document], texts: Mapping[str, str], left_out: Counter[str]) -> Iterable[Document]:
    for doc in predicted:
        if doc.id not in texts:
            left_out["predicted mentions in documents that the gold does not have"] += len(doc.mentions)
        elif doc.text != texts[doc.id]:
            what = "the predicted document has another text than the gold one, so that offsets mean other places"
            raise InputError("text-differs", what, where=f"document {doc.id}", fix="predict on the very text of the gold")
        else:
            yield doc


def _spans(documents: Iterable[Document], same: Same, left_out: Counter[str], reason: str) -> Spans:
    spans: Spans = defaultdict(set)
    for doc in documents:
        for mention in doc.mentions:
            left_out[reason] += not mention.concept_ids
            for concept_id in mention.concept_ids:
                spans[doc.id, same(concept_id)].add((mention.start, mention.end))
    return spans


def _total(items: Spans, others: Spans, credit: Credit) -> float:
    return sum(credit(span, others[key]) for key, spans in items.items() if key in others for span in spans)


def _strict(span: Span, others: set[Span]) -> float:
    return float(span in others)


def _partial(span: Span, others: set[Span]) -> float:
    return float(_most(span, others) > 0)


def _max(span: Span, others: set[Span]) -> float:
    return _most(span, others) / (span[1] - span[0])


def _most(span: Span, others: set[Span]) -> int:
    """Return the greatest number of characters that one of the others shares with a span."""
    if span in others:
        return span[1] - span[0]
    start, end = span
    return max(0, *(min(end, other_end) - max(start, other_start) for other_start, other_end in others))


END_TO_END: dict[str, Credit] = {"bhowmik-strict": _strict, "bhowmik-partial": _partial, "neleval-overlap-maxmax": _max}
"""Every protocol for mentions that the system finds itself, the default first."""
