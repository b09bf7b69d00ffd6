"""End-to-end protocols: micro-averaged precision, recall and F1 of mentions that a system finds itself.

An *item* is a span of a document and one concept: a composite mention is one item for each of its concepts,
and the same item twice counts once. Spans are those of whole mentions, their fragments together.

| protocol | credit of an item |
|---|---|
| `bhowmik-strict` | 1 where the other side has the same document, start, end and concept |
| `bhowmik-partial` | 1 where the other side has the same concept at a span that overlaps, by one character or more |
| `neleval-overlap-maxmax` | the share of its characters that the best such span of the other side covers |
| `document` | an item is a document and a concept, wherever it is mentioned: 1 where the other side has it |

Precision is the mean credit of the predicted items, recall that of the gold ones. Items are not aligned one to one: two
predictions of the right concept inside one gold mention are both right, and the gold mention is found once. So `right` and
`found` differ, and both are reported. `neleval-overlap-maxmax` is the measure `overlap-maxmax::span+kbid` of neleval, which
Bhowmik and others and MedType used for their partial figures; their papers describe `bhowmik-partial`. neleval walks both lists
of spans once, and may miss the best span where spans of one concept on one side overlap; here every pair is compared.

Gold mentions without a concept (`-1` in some corpora) are left out, and so are predictions without one; a prediction that has
a concept where the gold mention has none is wrong. Predictions in documents that the gold does not have are left out too.
By `document`, documents that a preparation made of one published document are one: an article, not its passages.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from onym.datasets.overlap import corpus_document
from onym.errors import ConfigError, InputError, shown_id
from onym.evaluate.cases import CanonicalId
from onym.outputs.predictions import DocumentName, DocumentNames
from onym.types import Document

Offsets = tuple[int, int]
Spans = dict[tuple[DocumentName, str], set[Offsets]]
_Named = tuple[DocumentName, Document]
"""The spans of a concept in a document."""
Credit = Callable[[Offsets, set[Offsets]], float]
"""The credit of an item, from 0 to 1, given the spans of the same concept in the same document on the other side."""


DOCUMENT = "document"
_ANYWHERE: Offsets = (0, 0)
NOT_IN_GOLD = "predicted mentions in documents that the gold does not have"


@dataclass(frozen=True, slots=True)
class EndToEndScores:
    """Counts by one protocol, and precision, recall and F1; without items they are zero.

    `right` is the total credit of the predicted items, `found` that of the gold items.
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
    gold: Iterable[Document], predicted: Iterable[Document], name: str = "bhowmik-strict", canonical: CanonicalId = str
) -> EndToEndScores:
    """Score predicted mentions and concepts against the gold ones of the same documents.

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
    """Refuse the name of an unknown protocol."""
    if name not in END_TO_END:
        known = ", ".join(END_TO_END)
        raise ConfigError("protocol-unknown", f"no end-to-end protocol is named {name!r}", fix=f"the names are {known}")


def _documents_in_gold(
    predicted: Iterable[_Named], texts: Mapping[DocumentName, str], left_out: Counter[str]
) -> Iterable[_Named]:
    for name, doc in predicted:
        if name not in texts:
            left_out[NOT_IN_GOLD] += len(doc.mentions)
        elif doc.text != texts[name]:
            what = "the predicted document has another text than the gold one, so offsets do not agree"
            where, fix = f"document {shown_id(doc.id)}", "predict on the text of the gold document"
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
    """Return the spans of each concept in each document; with `articles`, whether an article has the concept at all."""
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
    """Return the greatest number of characters that one of the others shares with a span."""
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
"""Every end-to-end protocol, the default first."""
