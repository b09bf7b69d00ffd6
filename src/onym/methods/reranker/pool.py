"""Candidate pooling: merge the candidates of several sources into pairs of a mention and a concept.

Sources are: exact name matches of the surface and of its expanded abbreviation, the memory counts of both, similar surfaces in
the memory, the candidates of other linkers, and the candidates that all these sources find for aliases of the mention. Pairs
are stored in flat arrays, ordered by mention.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, pairwise
from typing import NamedTuple

import numpy as np

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked
from onym.methods.trees.memory import KbMemory, Own
from onym.methods.trees.trees import Floats, Ints
from onym.text.normal import normal_name
from onym.text.queries import Query
from onym.text.similarity import NameSimilarity
from onym.text.spelling import other_forms
from onym.types import Candidate, Mention

_OPENING = re.compile(r"\s?[(\[]\s?")
_CLOSING = re.compile(r"\s?[)\]]")


def aliases_of(queries: Sequence[Query]) -> Mapping[str, set[str]]:
    """Return the aliases of each query. If a mention is followed by one of the same type in brackets, both are aliases.

    >>> from onym.text.queries import queries_of
    >>> from onym.types import Document
    >>> doc = Document("1", "amrubicin (SM-5887)", (Mention(0, 9, "amrubicin"), Mention(11, 18, "SM-5887")))
    >>> dict(aliases_of(queries_of(doc)))
    {'amrubicin': {'sm 5887'}, 'sm 5887': {'amrubicin'}}
    """
    aliases: dict[str, set[str]] = defaultdict(set)
    for one, other in pairwise(sorted(queries, key=lambda query: (query.mention.start, query.mention.end))):
        text, first, second = one.document.text, one.mention, other.mention
        if (
            first.type == second.type
            and one.text != other.text
            and _OPENING.fullmatch(text, first.end, max(first.end, second.start))
            and _CLOSING.match(text, second.end)
        ):
            aliases[one.text].add(other.text)
            aliases[other.text].add(one.text)
    return aliases


_SIMILAR = 10  # number of similar surfaces to retrieve from the memory per query
_CACHE_SIZE = 100_000  # maximum number of entries per cache; the same names and ids are looked up often
_ALIAS = 3  # number of best candidates of each linker to use per alias of a mention


@dataclass(frozen=True, slots=True)
class PooledMention:
    """A mention with its normalised surface and expanded query, the concepts found for both, and its count in the document.

    `decided` is the concept that the annotations of the query, or the query as a name, decide; -1 if neither does. If there is
    one, memory entries of other vocabularies are left out: the annotation of a broader concept in one vocabulary says nothing
    about the concept of that name in another.
    """

    doc: int
    mention: Mention
    surface: str
    query: str
    named_surface: tuple[int, ...]
    named_query: tuple[int, ...]
    recalled_surface: dict[int, int]
    recalled_query: dict[int, int]
    similar: dict[int, float]
    aliases: tuple[str, ...]
    repeated: int
    decided: int


@dataclass(frozen=True, slots=True)
class Pool:
    """Pairs of mentions and concepts: pair `i` belongs to mention `owners[i]`; the pairs of mention `m` start at `offsets[m]`.

    `scores` and `ranks` hold an array per linker, with NaN if the linker does not propose the concept. `counts` holds the count
    of each concept in the memory. `aliases` maps the concepts of each mention's aliases to a score. `row_of` maps the concepts
    of each mention to pairs.
    """

    mentions: list[PooledMention]
    offsets: Ints
    owners: Ints
    concepts: Ints
    counts: Ints
    scores: dict[str, Floats]
    ranks: dict[str, Floats]
    aliases: list[dict[int, float]]
    row_of: list[dict[int, int]]

    def __len__(self) -> int:
        return len(self.concepts)

    def spread(self, values: Iterable[Mapping[int, float]]) -> Floats:
        """Return a column with each mention's values by concept; 0 for concepts without a value."""
        return _spread(self.row_of, values, 0.0)

    def repeat(self, values: Iterable[float]) -> Floats:
        """Return a column with one value per mention."""
        return np.array(list(values), dtype=np.float64)[self.owners]


Proposed = Mapping[int, float]
"""The scores of a linker's candidates for a mention by KB row, best first."""


class Pooling:
    """Pools candidates from a knowledge base, a memory and other linkers.

    With `skips_names`, candidates of other linkers are left out for a query that is a name: those with this name, and those
    that the memory knows for it, are enough. With `follow_annotations`, clear annotations decide before names do.
    """

    def __init__(
        self, kb: KnowledgeBase, memory: KbMemory, *, skips_names: bool = False, follow_annotations: bool = False
    ) -> None:
        self.kb, self.memory, self.skips_names, self.follow_annotations = kb, memory, skips_names, follow_annotations
        self._surfaces = list(memory.memory.surfaces)
        self._similarity = NameSimilarity(self._surfaces) if self._surfaces else None
        self._row_of = lru_cache(_CACHE_SIZE)(kb.concept_ids.find)
        self._name_of = lru_cache(_CACHE_SIZE)(self._find_name)
        self._named = lru_cache(_CACHE_SIZE)(self._find_concepts)

    def pool(
        self,
        docs: Sequence[Sequence[Query]],
        ranked: Mapping[str, Sequence[Ranked]],
        only: ConceptMask | None = None,
        own: Sequence[Own | None] | None = None,
    ) -> Pool:
        """Merge the candidates of each linker in `ranked` with candidates from the knowledge base and the memory.

        `docs` has the queries of each document, `own` the memory counts that come from it; these are subtracted.
        """
        proposed = {name: [self.rows_of(each.candidates) for each in found] for name, found in ranked.items()}
        return self.merge(list(iter_mentions(docs)), proposed, only, own or [None] * len(docs))

    def merge(
        self,
        unresolved: Sequence[Unresolved],
        proposed: Mapping[str, Sequence[Proposed]],
        only: ConceptMask | None,
        own: Sequence[Own | None],
    ) -> Pool:
        """Merge the candidates that linkers propose for mentions with candidates from the knowledge base and the memory."""
        mentions = self._mentions(unresolved, own, only)
        rows = {
            name: [self._without_names(*each) for each in zip(mentions, found, strict=True)] for name, found in proposed.items()
        }
        aliases = _of_aliases(mentions, list(rows.values()))
        found = [
            self._concepts(mention, [*(rows[name][m] for name in rows), aliases[m]], only) for m, mention in enumerate(mentions)
        ]
        offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
        concepts = np.array([concept for each in found for concept in each], dtype=np.int64)
        owners = np.repeat(np.arange(len(mentions)), np.diff(offsets))
        starts = offsets[:-1].tolist()
        row_of = [dict(zip(each, count(start), strict=False)) for each, start in zip(found, starts, strict=True)]
        scores = {name: _spread(row_of, of_part, np.nan) for name, of_part in rows.items()}
        ranks = {name: _spread(row_of, map(_rank, of_part), np.nan) for name, of_part in rows.items()}
        counts = self._counts(concepts, [mentions[owner].doc for owner in owners.tolist()], own)
        return Pool(mentions, offsets, owners, concepts, counts, scores, ranks, aliases, row_of)

    def _counts(self, concepts: Ints, docs: Sequence[int], own: Sequence[Own | None]) -> Ints:
        """Return the memory count of each pair's concept, without the counts that come from the pair's document."""
        if not any(own):
            return self.memory.totals[concepts]
        in_own = [Counter[int]() for _ in own]
        for total, of_doc in zip(in_own, own, strict=True):
            for rows in (of_doc or {}).values():
                total.update(rows)
        less = [in_own[doc][concept] for doc, concept in zip(docs, concepts.tolist(), strict=True)]
        return self.memory.totals[concepts] - np.array(less, dtype=np.int64)

    def rows_of(self, candidates: Sequence[Candidate]) -> Proposed:
        """Return the scores of candidates by KB row, best first."""
        return {self._row_of(candidate.concept_id): candidate.score for candidate in candidates}

    def needs_linkers(self, query: str) -> bool:
        """Return whether candidates of other linkers are used for a query."""
        return not (self.skips_names and self._named(query))

    def _without_names(self, mention: PooledMention, found: Proposed) -> Proposed:
        return found if self.needs_linkers(mention.query) else {}

    def _concepts(self, mention: PooledMention, proposed: Sequence[Mapping[int, float]], only: ConceptMask | None) -> list[int]:
        found: dict[int, None] = {}
        for source in (
            mention.named_query,
            mention.named_surface,
            mention.recalled_query,
            mention.recalled_surface,
            mention.similar,
            *proposed,
        ):
            found |= dict.fromkeys(source)
        return [concept for concept in found if concept >= 0 and (only is None or only[concept])]

    def _mentions(
        self, unresolved: Sequence[Unresolved], own: Sequence[Own | None], only: ConceptMask | None
    ) -> list[PooledMention]:
        """Look up mentions in the knowledge base and the memory."""
        similar = self._similar({each.query for each in unresolved})
        return [self._mention(each, similar.get(each.query, ()), own[each.doc], only) for each in unresolved]

    def _mention(
        self, found: Unresolved, similar: Sequence[tuple[str, float]], own: Own | None, only: ConceptMask | None
    ) -> PooledMention:
        decided = self._decide(found.query, only)
        recall = self.memory.recall
        vocabulary = self.kb.order.vocabulary_of(decided) if decided >= 0 else ""
        return PooledMention(
            doc=found.doc,
            mention=found.mention,
            surface=found.surface,
            query=found.query,
            named_surface=self._named(found.surface),
            named_query=self._named(found.query),
            recalled_surface=recall(found.surface, own, vocabulary),
            recalled_query=recall(found.query, own, vocabulary),
            similar=self._recall_similar(similar, own, vocabulary),
            aliases=found.aliases,
            repeated=found.repeated,
            decided=decided,
        )

    def _decide(self, query: str, only: ConceptMask | None) -> int:
        """Return the concept that the annotations of a query, or else the query as a name, decide; -1 if neither does."""
        annotated = self.memory.meaning(query) if self.follow_annotations else -1
        if annotated >= 0 and (only is None or only[annotated]):
            return annotated
        return self.kb.order.meaning(self._name_of(query), only)

    def _find_name(self, text: str) -> int:
        """Return the row of a name, or of the first of its other spellings and numbers that is a name, or -1."""
        found = map(self.kb.names.find, (text, *other_forms(text)))
        return next((row for row in found if row >= 0), -1)

    def _find_concepts(self, text: str) -> tuple[int, ...]:
        row = self._name_of(text)
        return tuple(self.kb.name_concepts[row].tolist()) if row >= 0 else ()

    def _similar(self, texts: set[str]) -> dict[str, list[tuple[str, float]]]:
        """Return the most similar surfaces of the memory for each text, with their similarity."""
        if self._similarity is None:
            return {}
        ordered, surfaces = sorted(texts), self._surfaces
        return {
            text: [(surfaces[row], score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)]
            for text, (rows, scores) in zip(ordered, self._similarity.top(ordered, _SIMILAR), strict=True)
        }

    def _recall_similar(self, surfaces: Sequence[tuple[str, float]], own: Own | None, vocabulary: str) -> dict[int, float]:
        """Return the concepts of similar surfaces, each with its best similarity."""
        found: dict[int, float] = {}
        for surface, score in surfaces:
            for concept in self.memory.recall(surface, own, vocabulary):
                found.setdefault(concept, score)
        return found


class Unresolved(NamedTuple):
    """A mention before it is looked up in the KB and the memory."""

    doc: int
    source: Query
    mention: Mention
    surface: str
    query: str
    aliases: tuple[str, ...]
    repeated: int


def iter_mentions(docs: Iterable[Sequence[Query]]) -> Iterator[Unresolved]:
    """Yield the mentions of documents, given by their queries."""
    for number, queries in enumerate(docs):
        times, aliases = Counter(query.text for query in queries), aliases_of(queries)
        for query in queries:
            text, surface = query.text, normal_name(query.mention.surface)
            yield Unresolved(number, query, query.mention, surface, text, tuple(sorted(aliases.get(text, ()))), times[text])


def _spread(row_of: Sequence[Mapping[int, int]], values: Iterable[Mapping[int, float]], missing: float) -> Floats:
    """Return a column for all pairs from the values of each mention by concept; a concept that is no candidate is ignored."""
    column = np.full(sum(map(len, row_of)), missing)
    found = [
        (rows[concept], value)
        for rows, each in zip(row_of, values, strict=True)
        for concept, value in each.items()
        if concept in rows
    ]
    if found:
        rows, known = zip(*found, strict=True)
        column[list(rows)] = known
    return column


def _rank(scores: Mapping[int, float]) -> dict[int, int]:
    return {concept: rank for rank, concept in enumerate(scores)}


def _of_aliases(mentions: Sequence[PooledMention], rows: Sequence[Sequence[Mapping[int, float]]]) -> list[dict[int, float]]:
    """Return the concepts of each mention's aliases, with their scores. Exact name and memory matches have the score 1."""
    first = {(mention.doc, mention.query): m for m, mention in reversed(list(enumerate(mentions)))}
    found: list[dict[int, float]] = []
    for mention in mentions:
        scores: dict[int, float] = {}
        for alias in (first[mention.doc, query] for query in mention.aliases):
            proposed = {concept: score for of_part in rows for concept, score in list(of_part[alias].items())[:_ALIAS]}
            known = dict.fromkeys((*mentions[alias].named_query, *mentions[alias].recalled_query), 1.0)
            for concept, score in (proposed | known).items():
                scores[concept] = max(score, scores.get(concept, 0.0))
        found.append(scores)
    return found
