"""Candidate pooling: merge the candidates of several sources into pairs of a mention and a concept.

Sources are: exact name matches of the surface and of its expanded abbreviation, the memory counts of both, similar surfaces in
the memory, the candidates of other linkers, and the candidates that all these sources find for aliases of the mention. Pairs
are stored in flat arrays, ordered by mention.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.rerank.memory import KbMemory, Own, queries
from onym.text.similarity import NameSimilarity
from onym.types import Document, Link, Mention

_OPENING = re.compile(r"\s?[(\[]\s?")
_CLOSING = re.compile(r"\s?[)\]]")


def aliases_of(doc: Document, queries: Sequence[str]) -> Mapping[str, set[str]]:
    """Return the aliases of each query. If a mention is followed by one of the same type in brackets, both are aliases.

    >>> from onym.types import Mention
    >>> doc = Document("1", "amrubicin (SM-5887)", (Mention(0, 9, "amrubicin"), Mention(11, 18, "SM-5887")))
    >>> dict(aliases_of(doc, ["amrubicin", "sm 5887"]))
    {'amrubicin': {'sm 5887'}, 'sm 5887': {'amrubicin'}}
    """
    found: dict[str, set[str]] = defaultdict(set)
    order = sorted(range(len(doc.mentions)), key=lambda at: (doc.mentions[at].start, doc.mentions[at].end))
    for one, other in pairwise(order):
        first, second = doc.mentions[one], doc.mentions[other]
        if (
            first.type == second.type
            and queries[one] != queries[other]
            and _OPENING.fullmatch(doc.text, first.end, max(first.end, second.start))
            and _CLOSING.match(doc.text, second.end)
        ):
            found[queries[one]].add(queries[other])
            found[queries[other]].add(queries[one])
    return found


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_SIMILAR = 10  # number of similar surfaces to retrieve from the memory per query
_CACHE_SIZE = 100_000  # maximum number of entries per cache; the same names and ids are looked up often
_ALIAS = 3  # number of best candidates of each linker to use per alias of a mention


@dataclass(frozen=True, slots=True)
class PooledMention:
    """A mention with its normalised surface and expanded query, the concepts found for both, and its count in the document."""

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


@dataclass(frozen=True, slots=True)
class Pool:
    """Pairs of mentions and concepts: pair `i` belongs to mention `owners[i]`; the pairs of mention `m` start at `offsets[m]`.

    `scores` and `ranks` hold an array per linker, with NaN if the linker does not propose the concept. `counts` holds the count
    of each concept in the memory. `aliases` maps the concepts of each mention's aliases to a score. `rows_of` maps each mention
    of the documents, in order, to its index in `mentions`.
    """

    mentions: list[PooledMention]
    offsets: Ints
    owners: Ints
    concepts: Ints
    counts: Ints
    scores: dict[str, Floats]
    ranks: dict[str, Floats]
    aliases: list[dict[int, float]]
    rows_of: list[int]

    def __len__(self) -> int:
        return len(self.concepts)


class Pooling:
    """Pools candidates from a knowledge base, a memory and other linkers."""

    def __init__(self, kb: KnowledgeBase, memory: KbMemory) -> None:
        self.kb, self.memory = kb, memory
        surfaces = memory.memory.surfaces
        self._similarity = NameSimilarity(list(surfaces)) if len(surfaces) else None
        self._row_of = lru_cache(_CACHE_SIZE)(kb.concept_ids.find)
        self._named = lru_cache(_CACHE_SIZE)(self._find_concepts)

    def pool(
        self,
        docs: Sequence[Document],
        links: Mapping[str, Sequence[Sequence[Link]]],
        only: ConceptMask | None = None,
        own: Sequence[Own | None] | None = None,
        *,
        is_distinct: bool = False,
    ) -> Pool:
        """Merge the candidates of each linker in `links` with candidates from the knowledge base and the memory.

        `own` holds, for each document, the memory counts that come from it; these are subtracted. With `is_distinct`, mentions
        of a document with the same surface and type are pooled once.
        """
        own = own or [None] * len(docs)
        unresolved = list(_iter_mentions(docs))
        rows_of = _distinct(unresolved) if is_distinct else list(range(len(unresolved)))
        first = np.unique(rows_of, return_index=True)[1].tolist()
        mentions = self._mentions([unresolved[m] for m in first], own)
        proposed = {name: [link for each in of_docs for link in each] for name, of_docs in links.items()}
        rows = {name: [self._rows(of_part[m]) for m in first] for name, of_part in proposed.items()}
        aliases = _of_aliases(mentions, list(rows.values()))
        found = [
            self._concepts(mention, [*(rows[name][m] for name in rows), aliases[m]], only) for m, mention in enumerate(mentions)
        ]
        offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
        concepts = np.array([concept for each in found for concept in each], dtype=np.int64)
        owners = np.repeat(np.arange(len(mentions)), np.diff(offsets))
        scored = {name: _score_pool(found, offsets, of_part) for name, of_part in rows.items()}
        scores, ranks = ({name: both[at] for name, both in scored.items()} for at in (0, 1))
        docs_of = [mentions[owner].doc for owner in owners.tolist()]
        return Pool(mentions, offsets, owners, concepts, self._counts(concepts, docs_of, own), scores, ranks, aliases, rows_of)

    def _counts(self, concepts: Ints, docs: Sequence[int], own: Sequence[Own | None]) -> Ints:
        """Return the memory count of each pair's concept, without the counts that come from the pair's document."""
        in_own = [Counter[int]() for _ in own]
        for total, of_doc in zip(in_own, own, strict=True):
            for rows in (of_doc or {}).values():
                total.update(rows)
        less = [in_own[doc][concept] for doc, concept in zip(docs, concepts.tolist(), strict=True)]
        return self.memory.totals[concepts] - np.array(less, dtype=np.int64)

    def _rows(self, link: Link) -> dict[int, float]:
        """Return the scores of a link's candidates by KB row, best first."""
        return {self._row_of(candidate.concept_id): candidate.score for candidate in link.candidates}

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

    def _mentions(self, unresolved: Sequence[_Unresolved], own: Sequence[Own | None]) -> list[PooledMention]:
        """Look up mentions in the knowledge base and the memory."""
        similar = self._similar({each.query for each in unresolved})
        return [
            PooledMention(
                doc=doc,
                mention=mention,
                surface=surface,
                query=query,
                named_surface=self._named(surface),
                named_query=self._named(query),
                recalled_surface=self.memory.recall(surface, own[doc]),
                recalled_query=self.memory.recall(query, own[doc]),
                similar=self._recall_similar(similar.get(query, ()), own[doc]),
                aliases=aliases,
                repeated=repeated,
            )
            for doc, mention, surface, query, aliases, repeated in unresolved
        ]

    def _find_concepts(self, text: str) -> tuple[int, ...]:
        row = self.kb.names.find(text)
        return tuple(int(concept) for concept in self.kb.name_concepts[row]) if row >= 0 else ()

    def _similar(self, texts: set[str]) -> dict[str, list[tuple[str, float]]]:
        """Return the most similar surfaces of the memory for each text, with their similarity."""
        if self._similarity is None:
            return {}
        ordered, surfaces = sorted(texts), self.memory.memory.surfaces
        return {
            text: [(surfaces[int(row)], float(score)) for row, score in zip(rows, scores, strict=True)]
            for text, (rows, scores) in zip(ordered, self._similarity.top(ordered, _SIMILAR), strict=True)
        }

    def _recall_similar(self, surfaces: Sequence[tuple[str, float]], own: Own | None) -> dict[int, float]:
        """Return the concepts of similar surfaces, each with its best similarity."""
        found: dict[int, float] = {}
        for surface, score in surfaces:
            for concept in self.memory.recall(surface, own):
                found.setdefault(concept, score)
        return found


class _Unresolved(NamedTuple):
    """A mention before it is looked up in the KB and the memory."""

    doc: int
    mention: Mention
    surface: str
    query: str
    aliases: tuple[str, ...]
    repeated: int


def _iter_mentions(docs: Sequence[Document]) -> Iterator[_Unresolved]:
    """Yield all mentions of documents."""
    for number, doc in enumerate(docs):
        surfaces, expanded = queries(doc, expand=False), queries(doc, expand=True)
        times, aliases = Counter(expanded), aliases_of(doc, expanded)
        for mention, surface, query in zip(doc.mentions, surfaces, expanded, strict=True):
            yield _Unresolved(number, mention, surface, query, tuple(sorted(aliases.get(query, ()))), times[query])


def _distinct(mentions: Sequence[_Unresolved]) -> list[int]:
    """Return a group index for each mention; mentions with the same document, surface, query and type are in one group."""
    row_of: dict[tuple[int, str, str, str], int] = {}
    keys = ((each.doc, each.mention.surface, each.query, each.mention.type) for each in mentions)
    return [row_of.setdefault(key, len(row_of)) for key in keys]


def _score_pool(found: Sequence[Sequence[int]], offsets: Ints, of_part: Sequence[Mapping[int, float]]) -> tuple[Floats, Floats]:
    """Return a linker's scores and ranks for all pairs; NaN if the linker does not propose the concept."""
    scores, ranks = np.full((2, int(offsets[-1])), np.nan)
    for concepts, start, candidates in zip(found, offsets.tolist(), of_part, strict=False):
        row_of = {concept: row for row, concept in enumerate(concepts, start)}
        for rank, (concept, score) in enumerate(candidates.items()):
            if (row := row_of.get(concept)) is not None:
                scores[row], ranks[row] = score, rank
    return scores, ranks


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
