"""Samples of a corpus: each mention in its context, with a name of its concept to write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from onym.datasets.overlap import corpus_span
from onym.kb import KnowledgeBase
from onym.text.expansion import expand_abbreviations
from onym.text.layout import Layout
from onym.train.samples.base import Sample
from onym.train.samples.order import draws
from onym.train.samples.ordered import Ordered
from onym.train.samples.targets import Choice, Place, targets_of
from onym.types import Document


class MentionSamples(Ordered):
    """`count` samples of mentions: every mention with each of its names is seen once in an epoch, in an order by `seed`."""

    def __init__(
        self,
        places: Sequence[Place],
        kb: KnowledgeBase,
        layout: Layout,
        *,
        count: int,
        choice: Choice = "similar",
        names: int = 1,
        seed: int = 0,
    ) -> None:
        targets = targets_of(places, kb, choice=choice, count=names)
        self.unreachable = sum(not found for found in targets)
        self._places, self._kb, self._layout, self._seed = places, kb, layout, seed
        self._targets = targets
        each = [found if choice != "sampled" else found[:1] for found in targets]
        self._rows = [(place, number) for place, found in enumerate(each) for number in range(len(found))]
        self._is_drawn = choice == "sampled"
        super().__init__(len(self._rows), count, seed)

    def __getitems__(self, places: Sequence[int]) -> list[Sample]:
        rows = self._order.at(np.asarray(places, dtype=np.int64)).tolist()
        return [self._sample(place, *self._rows[row]) for place, row in zip(places, rows, strict=True)]

    def _sample(self, place: int, at: int, number: int) -> Sample:
        doc, mention = self._places[at]
        found = self._targets[at]
        name = found[draws(self._seed, place, len(found))] if self._is_drawn else found[number]
        source = self._layout.source(doc.text, mention.start, mention.end)
        return Sample(source, self._layout.prompt(mention.surface), self._layout.name(self._kb.names[name]))


def mentions_of(documents: Iterable[Document], *, without: Iterable[Document] = ()) -> list[Place]:
    """Return the mentions that have an id, but for those that stand in `without` too: some preparations put dev into train.

    Abbreviations are expanded, as the linker does.

    >>> from onym.types import Mention
    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> len(mentions_of([doc])), len(mentions_of([doc], without=[doc]))
    (1, 0)
    """
    left_out = {corpus_span(doc, mention) for doc in without for mention in doc.mentions}
    return [
        asked
        for doc in documents
        for mention, asked in zip(doc.mentions, expand_abbreviations(doc), strict=True)
        if mention.concept_ids and corpus_span(doc, mention) not in left_out
    ]
