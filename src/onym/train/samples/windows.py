"""Windows of documents with the mentions in them: the samples of a model that encodes whole documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onym.models.documents import Window, windows
from onym.models.tokens import Placed, Tokenizer
from onym.train.samples.order import OrderedList
from onym.train.samples.targets import DocMention
from onym.types import Document, DocumentKey

NOT_LINKED = -1
"""The number of a mention that is only to be detected."""


@dataclass(frozen=True, slots=True)
class TrainingWindow:
    """A window of a document. `spans` are the mentions wholly inside it: first token, last token + 1, number.

    Tokens count from the start of the document. A mention's number is its index among those to link, or NOT_LINKED.
    """

    doc: Document
    tokens: Placed
    window: Window
    spans: tuple[tuple[int, int, int], ...]


class TrainingWindows(OrderedList[TrainingWindow]):
    """`count` windows of documents, each seen once in an epoch, in an order by `seed`.

    They are the windows of inference, `room` tokens long: they do not depend on mentions. `linkable` are the mentions to link;
    the others of the documents are only to be detected.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        linkable: Sequence[DocMention],
        tokenizer: Tokenizer,
        *,
        room: int,
        overlap: int,
        count: int = 0,
        seed: int = 0,
    ) -> None:
        numbers = {(doc.key, mention.start, mention.end): number for number, (doc, mention) in enumerate(linkable)}
        found = [window for doc in documents for window in _windows(doc, tokenizer, numbers, room, overlap)]
        super().__init__(found, count, seed)


def _windows(
    doc: Document, tokenizer: Tokenizer, numbers: dict[tuple[DocumentKey, int, int], int], room: int, overlap: int
) -> list[TrainingWindow]:
    tokens = tokenizer.placed(doc.text)
    spans = [
        (*span, numbers.get((doc.key, mention.start, mention.end), NOT_LINKED))
        for mention in doc.mentions
        if mention.concept_ids and (span := tokens.span(mention.start, mention.end))
    ]
    return [
        TrainingWindow(doc, tokens, window, tuple(span for span in spans if window.start <= span[0] and span[1] <= window.end))
        for window in windows(len(tokens), room, overlap)
    ]
