"""From annotated documents to what a regression learns from: the features of each name that the dictionary finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onym.detect.base import Span
from onym.detect.classifier import context_features, row_of, surface_features
from onym.text.analysis import analysed
from onym.train.mentions.context import MentionsContext
from onym.types import Document


class Occurrences(NamedTuple):
    """Names in the texts of a corpus: the rows of their features, and whether each is a mention. `gold` counts all mentions."""

    documents: list[tuple[str, Span]]
    rows: list[list[int]]
    is_mention: npt.NDArray[np.bool_]
    gold: int


def occurrences_of(context: MentionsContext, corpus: str, documents: Sequence[Document], convention: str) -> Occurrences:
    """Return what the dictionary finds of the types that a corpus annotates. A mention has the span of a gold one."""
    types, found, rows, marks, gold = context.annotated[corpus], [], [], [], 0
    read = [analysed(doc) for doc in documents]
    for doc, detected in zip(read, context.dictionary.detect(read), strict=True):
        offsets = {(mention.start, mention.end) for mention in doc.mentions if mention.type in types}
        gold += len(offsets)
        for mention in detected.document.mentions:
            if mention.type in types:
                span = Span(mention.start, mention.end, type=mention.type)
                features = (*surface_features(mention.surface, mention.type, convention), *context_features(doc.text, span))
                found.append((doc.text, span))
                rows.append([row_of(feature) for feature in features])
                marks.append((mention.start, mention.end) in offsets)
    return Occurrences(found, rows, np.array(marks, dtype=bool), gold)
