"""Samples of a dataset: each mention in its context, with a name of its concept as the target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from onym.datasets.overlap import corpus_span
from onym.kb import KnowledgeBase
from onym.models.template import Layout
from onym.text.analysis import expand_abbreviations
from onym.train.samples.base import Sample
from onym.train.samples.order import OrderedSamples, draw
from onym.train.samples.targets import Choice, DocMention, targets_of
from onym.types import Document


class MentionSamples(OrderedSamples):
    """`count` samples of mentions: every mention with each of its names is seen once in an epoch, in an order by `seed`."""

    def __init__(
        self,
        mentions: Sequence[DocMention],
        kb: KnowledgeBase,
        layout: Layout,
        *,
        count: int,
        choice: Choice = "similar",
        names: int = 1,
        seed: int = 0,
    ) -> None:
        targets = targets_of(mentions, kb, choice=choice, count=names)
        self.unlinkable = sum(not found for found in targets)
        self._mentions, self._kb, self._layout, self._seed = mentions, kb, layout, seed
        self._targets = targets
        each = [found if choice != "sampled" else found[:1] for found in targets]
        self._rows = [(mention, number) for mention, found in enumerate(each) for number in range(len(found))]
        self._is_drawn = choice == "sampled"
        super().__init__(len(self._rows), count, seed)

    def __getitems__(self, indices: Sequence[int]) -> list[Sample]:
        rows = self._order.at(np.asarray(indices, dtype=np.int64)).tolist()
        return [self._sample(index, *self._rows[row]) for index, row in zip(indices, rows, strict=True)]

    def _sample(self, index: int, row: int, number: int) -> Sample:
        doc, mention = self._mentions[row]
        found = self._targets[row]
        name = found[draw(self._seed, index, len(found))] if self._is_drawn else found[number]
        source = self._layout.source(doc.text, mention.start, mention.end)
        return Sample(source, self._layout.prompt(mention.surface), self._layout.name(self._kb.names[name]))


def mentions_of(documents: Iterable[Document], *, exclude: Iterable[Document] = ()) -> list[DocMention]:
    """Return the mentions that have an id, except those in `exclude`: some preparations have dev inside train.

    Abbreviations are expanded, as in the linker.

    >>> from onym.types import Mention
    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> len(mentions_of([doc])), len(mentions_of([doc], exclude=[doc]))
    (1, 0)
    """
    excluded = {corpus_span(doc, mention) for doc in exclude for mention in doc.mentions}
    return [
        expanded
        for doc in documents
        for mention, expanded in zip(doc.mentions, expand_abbreviations(doc), strict=True)
        if mention.concept_ids and corpus_span(doc, mention) not in excluded
    ]
