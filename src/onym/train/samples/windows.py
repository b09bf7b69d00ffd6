"""Windows of documents with the mentions in them: what a model that reads documents is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onym.encoders.windows import Window, windows
from onym.text.tokens import Placed, Tokenizer
from onym.train.samples.ordered import Ordered
from onym.train.samples.targets import Place
from onym.types import Document, Mention


@dataclass(frozen=True, slots=True)
class Sight:
    """A window of a document. `spans` are the mentions that lie in it whole: first token, the one after the last, number.

    Tokens count from the beginning of the document. A mention's number is its place among all that have to be linked, or -1.
    """

    doc: Document
    tokens: Placed
    window: Window
    spans: tuple[tuple[int, int, int], ...]


class Sights(Ordered):
    """`count` windows of documents, each seen once in an epoch, in an order by `seed`.

    The windows are those that the model reads documents in, `room` tokens long: they do not know where mentions are.
    `wanted` are the mentions to be linked; the others of the documents are there to be found.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        wanted: Sequence[Place],
        tokenizer: Tokenizer,
        *,
        room: int,
        overlap: int,
        count: int = 0,
        seed: int = 0,
    ) -> None:
        numbers = {(doc.id, mention.start, mention.end): number for number, (doc, mention) in enumerate(wanted)}
        self._sights = [sight for doc in documents for sight in _sights(doc, tokenizer, numbers, room, overlap)]
        super().__init__(len(self._sights), count, seed)

    def __getitems__(self, places: Sequence[int]) -> list[Sight]:
        return [self._sights[row] for row in self._order.at(np.asarray(places, dtype=np.int64)).tolist()]


def _sights(
    doc: Document, tokenizer: Tokenizer, numbers: dict[tuple[str, int, int], int], room: int, overlap: int
) -> list[Sight]:
    tokens = tokenizer.placed(doc.text)
    found = [
        (*span, numbers.get((doc.id, mention.start, mention.end), -1))
        for mention in doc.mentions
        if _is_learnt(mention) and (span := tokens.span(mention.start, mention.end))
    ]
    return [
        Sight(doc, tokens, window, tuple(span for span in found if window.start <= span[0] and span[1] <= window.end))
        for window in windows(len(tokens), room, overlap)
    ]


def _is_learnt(mention: Mention) -> bool:
    """Tell whether a mention has an id: those without one are not asked for."""
    return bool(mention.concept_ids)
