"""Training samples from the mentions of a dataset: target names for generation, and mention-name pairs for encoders.

As target, GenBioEL (section 2.3) uses the most similar name by character 3-gram TF-IDF, ANGEL (section 3.2) the three most
similar. Pairs for encoders follow SapBERT, appendix A.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from onym.datasets.overlap import corpus_span
from onym.errors import ConfigError, InputError
from onym.kb import KnowledgeBase
from onym.kb.search import open_similarity
from onym.methods.generative.template import InputLayout
from onym.text.normal import normal_name
from onym.text.queries import queries_of, spell_out
from onym.train.samples.base import Ints, OrderedSamples, Positive, Sample, draw, draw_rows
from onym.types import Document, Mention

Choice = Literal["similar", "short", "sampled"]
"""Use the most similar names as targets, the shortest, or random ones: GenBioEL's Table 4."""
DocMention = tuple[Document, Mention]
"""A mention with its document."""
_ANY = 50  # for `sampled`: targets are drawn from the first 50 names of a concept
_STREAM = 5
_ALL = 2**64  # exclusive upper bound of random numbers


def targets_of(
    mentions: Sequence[DocMention], kb: KnowledgeBase, *, choice: Choice = "similar", count: int = 1
) -> list[tuple[int, ...]]:
    """Return the ids of the target names of each mention, best first; empty if its concepts are not in the KB.

    >>> from onym.types import Document, Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> doc = Document("1", "He had heart attacks", (Mention(7, 20, "heart attacks", ("mesh:D009203",)),))
    >>> [[kb.names[name] for name in names] for names in targets_of([(doc, doc.mentions[0])], kb)]
    [['heart attack']]
    """
    names = [names_of(concepts_of(mention, kb), kb) for _, mention in mentions]
    if choice == "sampled":
        return [found[:_ANY] for found in names]
    if choice == "short":
        return [tuple(sorted(found, key=lambda name: (len(kb.names[name]), kb.names[name]))[:count]) for found in names]
    surfaces = [normal_name(mention.surface) for _, mention in mentions]
    return _closest_names(surfaces, names, kb, count)


def concepts_of(mention: Mention, kb: KnowledgeBase) -> tuple[int, ...]:
    """Return the gold concepts of a mention as KB rows, without duplicates.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> [kb.concept_ids[concept] for concept in concepts_of(Mention(0, 2, "MI", ("mesh:D0", "omim:608446")), kb)]
    ['mesh:D009203']
    """
    return tuple(dict.fromkeys(concept for concept_id in mention.concept_ids for concept in kb.concepts_with_id(concept_id)))


def names_of(concepts: Sequence[int], kb: KnowledgeBase) -> tuple[int, ...]:
    """Return the ids of all names of these concepts, without duplicates.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> [kb.names[name] for name in names_of(kb.resolve("mesh:D005334"), kb)]
    ['fever', 'pyrexia', 'hyperthermia']
    """
    return tuple(dict.fromkeys(name for concept in concepts for name in kb.names_of(concept).tolist()))


def gold_concepts(mention: Mention, kb: KnowledgeBase) -> frozenset[int]:
    """Return the gold concepts of a mention as a set."""
    return frozenset(concepts_of(mention, kb))


def is_name_of(gold: frozenset[int], names: Sequence[int], kb: KnowledgeBase) -> bool:
    """Return whether any of the names belongs to any of the gold concepts."""
    return any(not gold.isdisjoint(kb.name_concepts[name].tolist()) for name in names)


def require_linkable(mentions: int) -> None:
    """Raise InputError if `mentions`, the number of mentions whose concepts are in the knowledge base, is 0."""
    if not mentions:
        fix = "set data.kb to the knowledge base that has the gold ids of the dataset"
        raise InputError("training-empty", "no gold id of the dataset is in the knowledge base", fix=fix)


def _closest_names(
    surfaces: Sequence[str], names: Sequence[tuple[int, ...]], kb: KnowledgeBase, count: int
) -> list[tuple[int, ...]]:
    if not names:
        return []
    similarity = open_similarity(kb)
    left = [surface for surface, found in zip(surfaces, names, strict=True) for _ in found]
    right = [kb.names[name] for found in names for name in found]
    scores = np.split(similarity.pairwise(left, right), np.cumsum([len(found) for found in names])[:-1])
    return [
        tuple(name for _, _, name in sorted(zip(-score, range(len(found)), found, strict=True))[:count])
        for score, found in zip(scores, names, strict=True)
    ]


class MentionSamples(OrderedSamples):
    """`count` mention samples, shuffled by `seed`; an epoch has every mention once with each of its target names."""

    def __init__(
        self,
        mentions: Sequence[DocMention],
        kb: KnowledgeBase,
        layout: InputLayout,
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
    """Return the mentions that have an id, without those in `exclude`, because some published train splits contain dev.

    Abbreviations are expanded, as in the linker.

    >>> from onym.types import Mention
    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> len(mentions_of([doc])), len(mentions_of([doc], exclude=[doc]))
    (1, 0)
    """
    excluded = {corpus_span(doc, mention) for doc in exclude for mention in doc.mentions}
    return [
        spell_out(query) if query.definition else (doc, mention)  # the plain document, without its analysis
        for doc in documents
        for mention, query in zip(doc.mentions, queries_of(doc), strict=True)
        if mention.concept_ids and corpus_span(doc, mention) not in excluded
    ]


@dataclass(frozen=True, slots=True)
class Query:
    """A mention as a query: its normalised surface and string id, its concepts, all their names, and the most similar name."""

    surface: str
    string: int
    concepts: tuple[int, ...]
    names: tuple[int, ...]
    best: int


class MentionPairs(OrderedSamples):
    """`count` mention-name pairs, shuffled by `seed`; an epoch has every mention once.

    The name is drawn each time: with probability `similar` the most similar one by TF-IDF, else a random name of the concepts.
    The paper pairs a mention with every name instead, which gives concepts with many names more weight.

    >>> from onym.types import Document, Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> doc = Document("1", "He had Heart Attacks", (Mention(7, 20, "Heart Attacks", ("mesh:D009203",)),))
    >>> pairs = MentionPairs([(doc, doc.mentions[0])], kb, count=2, similar=1.0)
    >>> [(pair.first, pair.second) for pair in pairs.__getitems__([0, 1])]
    [('heart attacks', 'heart attack'), ('heart attacks', 'heart attack')]
    """

    def __init__(
        self, mentions: Sequence[DocMention], kb: KnowledgeBase, *, count: int, similar: float = 0.5, seed: int = 0
    ) -> None:
        if not 0 <= similar <= 1:
            raise ConfigError("config-invalid", f"the probability `similar` is {similar}", fix="set a number from 0 to 1")
        self._kb, self._similar, self._seed = kb, similar, seed
        self.queries = _queries(mentions, kb, is_compared=similar > 0)
        self.unlinkable = len(mentions) - len(self.queries)
        require_linkable(len(self.queries))
        super().__init__(len(self.queries), count, seed)

    def __getitems__(self, indices: Sequence[int]) -> list[Positive]:
        numbers = np.asarray(indices, dtype=np.int64)
        drawn = draw_rows(self._seed, numbers, 2, stream=_STREAM).tolist()
        return [self._pair(self.queries[row], *draw) for row, draw in zip(self.rows(numbers).tolist(), drawn, strict=True)]

    def rows(self, indices: Ints) -> Ints:
        """Return the row of `queries` at each index."""
        return self._order.at(indices)

    def _pair(self, query: Query, chance: int, number: int) -> Positive:
        name = query.best if chance < self._similar * _ALL else query.names[number % len(query.names)]
        named = self._kb.name_concepts[name].tolist()
        concept = next(concept for concept in query.concepts if concept in named)
        also = tuple(other for other in query.concepts if other != concept)
        return Positive(query.surface, self._kb.names[name], concept, (query.string, name), also)


def _queries(mentions: Sequence[DocMention], kb: KnowledgeBase, *, is_compared: bool) -> list[Query]:
    """Return queries for mentions whose concepts are in the KB; `best` is the first name, or with `is_compared` the nearest."""
    best = targets_of(mentions, kb, choice="similar" if is_compared else "sampled")
    surfaces = [normal_name(mention.surface) for _, mention in mentions]
    strings = _strings(surfaces, kb)
    meant = {mention.concept_ids: concepts_of(mention, kb) for _, mention in mentions}
    names = {concept_ids: names_of(concepts, kb) for concept_ids, concepts in meant.items()}
    return [
        Query(surface, strings[surface], meant[mention.concept_ids], names[mention.concept_ids], found[0])
        for surface, (_, mention), found in zip(surfaces, mentions, best, strict=True)
        if found and surface  # linkers do not link a mention whose normalised surface is empty
    ]


def _strings(surfaces: Sequence[str], kb: KnowledgeBase) -> dict[str, int]:
    """Map each string to an id: the id of the equal KB name or, if there is none, a new id after all KB names."""
    found: dict[str, int] = {}
    for number, surface in enumerate(dict.fromkeys(surfaces), start=len(kb.names)):
        name = kb.names.find(surface)
        found[surface] = name if name >= 0 else number
    return found
