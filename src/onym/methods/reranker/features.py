"""Compute the features of a reranker: a matrix with a row for each pair of a mention and a concept.

A feature that is not available is NaN, such as the score of a linker that does not propose the concept, or the type features
of a mention without a type. `FEATURES` lists all features in column order.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from onym.kb import KnowledgeBase
from onym.methods.reranker.pool import Pool
from onym.methods.trees.memory import KbMemory
from onym.methods.trees.trees import Floats, Ints
from onym.store.arrays import Ragged
from onym.text.similarity import NameSimilarity


@dataclass(frozen=True, slots=True)
class TypeShares:
    """Estimates from the memory how well the semantic types (or groups) of a concept match a mention type.

    `shares` holds, for each mention type, the log10 share of its mentions whose concept has each semantic type.
    """

    kinds: Ragged
    shares: dict[str, Floats]

    @classmethod
    def of(cls, kinds: Ragged, size: int, memory: KbMemory) -> TypeShares:
        """Estimate the shares; `kinds` holds the semantic types of each concept, `size` is the number of semantic types."""
        is_known = memory.rows >= 0
        owned = kinds.take(memory.rows[is_known])
        lengths, shares = np.diff(owned.offsets), {}
        for name, counts in memory.by_type().items():
            known = counts[is_known]
            found = np.bincount(owned.values, np.repeat(known, lengths), minlength=size)
            shares[name] = np.log10((found + 0.5) / (known.sum() + 1))
        return cls(kinds, shares)

    def likeliest_type(self, concept: int) -> str:
        """Return the mention type with the largest share for a concept, or "" if there is none."""
        shares = {name: float(self.of_concepts(name, np.array([concept]))[0]) for name in sorted(self.shares)}
        known = {name: share for name, share in shares.items() if not np.isnan(share)}
        return max(known, key=lambda name: known[name], default="")

    def of_concepts(self, name: str, concepts: Ints) -> Floats:
        """Return, for each concept, the log share of its most frequent semantic type among mentions of type `name`.

        The share is NaN for concepts without semantic types. If the memory does not have the mention type, all shares are NaN.
        """
        best = np.full(len(concepts), np.nan)
        if name and name in self.shares:
            owned = self.kinds.take(concepts)
            has_any = np.diff(owned.offsets) > 0
            if has_any.any():
                best[has_any] = np.maximum.reduceat(self.shares[name][owned.values], owned.offsets[:-1][has_any])
        return best


_SIMILAR = 0.7  # minimum TF-IDF similarity of a name that is counted in the feature `similar_names`
_CACHE_SIZE = 100_000  # maximum number of names in the cache; names often repeat
_NUMBER = re.compile(r"[0-9]|^.$")
_MAX_NAMES = 64  # maximum names per concept to compare with a mention, preferred names first


class Feature(NamedTuple):
    """A column of the feature matrix; ablations drop all features of a `group` together."""

    name: str
    group: str
    meaning: str


FEATURES = (
    Feature("tfidf", "similarity", "TF-IDF similarity of the query to the concept's most similar name"),
    Feature("tfidf_margin", "similarity", "difference of `tfidf` to the best among the mention's candidates"),
    Feature("tfidf_rank", "similarity", "rank by `tfidf` among the mention's candidates"),
    Feature("preferred_tfidf", "similarity", "TF-IDF similarity of the query to the concept's preferred name"),
    Feature("similar_names", "similarity", "number of names of the concept with a similarity of at least 0.7"),
    Feature("dense", "similarity", "score of the dense linker"),
    Feature("dense_margin", "similarity", "difference of `dense` to the best among the mention's candidates"),
    Feature("dense_rank", "similarity", "rank given by the dense linker"),
    Feature("words_missing", "name", "number of words of the query that are not in the most similar name, ignoring plural s"),
    Feature("words_extra", "name", "number of words of the most similar name that are not in the query"),
    Feature("is_last_word", "name", "1 if query and most similar name end in the same word"),
    Feature("is_same_number", "name", "1 if query and most similar name have the same numbers and single letters"),
    Feature("kind", "name", "kind of the most similar name; 0 for a preferred name"),
    Feature("source", "source", "the first source with the most similar name, in the order of the recipe"),
    Feature("sources", "source", "number of sources with the most similar name"),
    Feature("vocabulary", "source", "the first source of the concept's preferred name, in the order of the recipe"),
    Feature("is_supplementary", "source", "1 for a MeSH supplementary concept record"),
    Feature("names", "source", "number of names of the concept"),
    Feature("definitions", "source", "number of definitions of the concept"),
    Feature("is_named", "exactness", "1 if the query is a name of the concept"),
    Feature("is_surface_named", "exactness", "1 if the surface is a name of the concept"),
    Feature("named", "exactness", "number of concepts with the query as a name"),
    Feature("surface_named", "exactness", "number of concepts with the surface as a name"),
    Feature("sharing", "ambiguity", "number of concepts with the most similar name"),
    Feature("candidates", "ambiguity", "number of candidates of the mention"),
    Feature("recalled", "memory", "count of the concept for this query in the memory"),
    Feature("recalled_share", "memory", "`recalled` divided by `query_count`"),
    Feature("surface_recalled", "memory", "count of the concept for this surface in the memory"),
    Feature("surface_recalled_share", "memory", "`surface_recalled` divided by `surface_count`"),
    Feature("similar_recalled", "memory", "similarity of the most similar surface with the concept in the memory"),
    Feature("similar_margin", "memory", "difference of `similar_recalled` to the best among the mention's candidates"),
    Feature("query_count", "memory", "count of the query in the memory"),
    Feature("surface_count", "memory", "count of the surface in the memory"),
    Feature("concept_count", "memory", "count of the concept in the memory"),
    Feature("group_share", "type", "log10 share of the memory's mentions of this type with the concept's semantic group"),
    Feature("type_share", "type", "log10 share of the memory's mentions of this type with the concept's semantic type"),
    Feature("type_margin", "type", "difference of `type_share` to the best among the mention's candidates"),
    Feature("named_elsewhere", "document", "number of other queries in the document that are names of the concept"),
    Feature("recalled_elsewhere", "document", "number of other queries in the document with the concept in the memory"),
    Feature("named_longer", "document", "1 if a longer query in the document has all these words and matches the concept"),
    Feature("alias", "document", "score of the concept for an alias of the mention in the document; NaN without an alias"),
    Feature("repeated", "document", "number of mentions in the document with this query"),
    Feature("is_expanded", "document", "1 if the surface is an abbreviation that the document defines"),
    Feature("firsts", "agreement", "number of sources with the concept as their first candidate"),
    Feature("proposals", "agreement", "number of sources that propose the concept"),
    Feature("length", "mention", "number of characters of the query"),
    Feature("words", "mention", "number of words of the query"),
    Feature("capitals", "mention", "share of capital letters and digits in the surface"),
    Feature(
        "decides",
        "exactness",
        "1 if the query, as a name or by its annotations, decides for the concept, 0 if for another one; NaN if for none",
    ),
)
"""All features, in column order."""
NAMES = tuple(feature.name for feature in FEATURES)


class PairFeatures(NamedTuple):
    """The feature matrix (pairs, features), and the KB row of each pair's most similar name."""

    matrix: Floats
    names: Ints


@dataclass(frozen=True, slots=True)
class BestNames:
    """For each pair, the name of the concept that is most similar to the query: its similarity and its KB term row.

    `preferred` is the similarity of the concept's preferred name, `similar` the number of its names similar to the query.
    """

    scores: Floats
    terms: Ints
    preferred: Floats
    similar: Floats


class FeatureMaker:
    """Computes features, using a knowledge base and a memory."""

    def __init__(self, kb: KnowledgeBase, memory: KbMemory, similarity: NameSimilarity) -> None:
        self.kb, self.memory, self._similarity = kb, memory, similarity
        self._starts = np.asarray(kb.concept_terms).astype(np.int64)
        self._term_names = np.asarray(kb.term_names).astype(np.int64)
        self._source = _first_sources(kb)
        self._counts = {
            "sources": _lengths(kb.term_sources),
            "definitions": _lengths(kb.concept_definitions),
            "sharing": _lengths(kb.name_concepts),
        }
        self._words_of = lru_cache(_CACHE_SIZE)(lambda name: _words(kb.names[name]))
        self._types = TypeShares.of(kb.concept_types, len(kb.types), memory)
        self._groups = TypeShares.of(kb.concept_groups, len(kb.groups), memory)

    def features(self, pool: Pool) -> PairFeatures:
        """Return the features and the most similar name of each pair."""
        best = self._best_names(pool)
        columns: dict[str, Floats] = {}
        columns |= self._similarities(pool, best) | self._name_columns(pool, best) | self._concept_columns(pool, best)
        columns |= _exactness(pool) | self._memories(pool) | self._type_columns(pool) | _document(pool)
        columns |= _agreement(pool, columns) | _mention(pool)
        matrix = np.column_stack([columns[name] for name in NAMES]) if len(pool) else np.zeros((0, len(NAMES)))
        return PairFeatures(matrix, self._term_names[best.terms])

    def _best_names(self, pool: Pool) -> BestNames:
        texts = [mention.query for mention in pool.mentions]
        starts = self._starts[pool.concepts]
        counts = np.minimum(self._starts[pool.concepts + 1] - starts, _MAX_NAMES)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        pairs = np.repeat(np.arange(len(pool)), counts)
        terms = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - starts, counts)
        scores = self._similarity.between(texts, pool.owners[pairs], self._term_names[terms])
        order = np.lexsort((terms, -scores, pairs))
        first = order[offsets[:-1]] if len(pool) else np.zeros(0, dtype=np.int64)
        similar = np.bincount(pairs, scores >= _SIMILAR, minlength=len(pool)).astype(np.float64)
        return BestNames(scores[first], terms[first], scores[offsets[:-1]], similar)

    def _similarities(self, pool: Pool, best: BestNames) -> dict[str, Floats]:
        dense = pool.scores.get("dense", np.full(len(pool), np.nan))
        return {
            "tfidf": best.scores,
            "tfidf_margin": margins(pool, best.scores),
            "tfidf_rank": ranks(pool, best.scores),
            "preferred_tfidf": best.preferred,
            "similar_names": best.similar,
            "dense": dense,
            "dense_margin": margins(pool, dense),
            "dense_rank": pool.ranks.get("dense", np.full(len(pool), np.nan)),
        }

    def _name_columns(self, pool: Pool, best: BestNames) -> dict[str, Floats]:
        names = map(self._words_of, self._term_names[best.terms].tolist())
        texts = [_words(mention.query) for mention in pool.mentions]
        rows = [_word_features(texts[owner], name) for owner, name in zip(pool.owners.tolist(), names, strict=True)]
        return _columns(("words_missing", "words_extra", "is_last_word", "is_same_number"), rows)

    def _concept_columns(self, pool: Pool, best: BestNames) -> dict[str, Floats]:
        kb, concepts = self.kb, pool.concepts
        return {
            "kind": kb.term_kinds[best.terms].astype(np.float64),
            "source": self._source[best.terms].astype(np.float64),
            "sources": self._counts["sources"][best.terms],
            "vocabulary": self._source[self._starts[concepts]].astype(np.float64),
            "is_supplementary": kb.order.is_supplementary(concepts).astype(np.float64),
            "names": (self._starts[concepts + 1] - self._starts[concepts]).astype(np.float64),
            "definitions": self._counts["definitions"][concepts],
            "sharing": self._counts["sharing"][self._term_names[best.terms]],
        }

    def _memories(self, pool: Pool) -> dict[str, Floats]:
        mentions = pool.mentions
        columns = {
            "recalled": pool.spread(mention.recalled_query for mention in mentions),
            "surface_recalled": pool.spread(mention.recalled_surface for mention in mentions),
            "similar_recalled": pool.spread(mention.similar for mention in mentions),
        }
        query = pool.repeat(sum(mention.recalled_query.values()) for mention in mentions)
        surface = pool.repeat(sum(mention.recalled_surface.values()) for mention in mentions)
        return columns | {
            "recalled_share": columns["recalled"] / np.maximum(query, 1),
            "surface_recalled_share": columns["surface_recalled"] / np.maximum(surface, 1),
            "similar_margin": margins(pool, columns["similar_recalled"]),
            "query_count": query,
            "surface_count": surface,
            "concept_count": pool.counts.astype(np.float64),
        }

    def _type_columns(self, pool: Pool) -> dict[str, Floats]:
        found = {"group_share": np.full(len(pool), np.nan), "type_share": np.full(len(pool), np.nan)}
        types = np.array([mention.mention.type for mention in pool.mentions], dtype=object)
        for name in set(types.tolist()):
            is_type = types[pool.owners] == name
            for key, shares in (("group_share", self._groups), ("type_share", self._types)):
                found[key][is_type] = shares.of_concepts(name, pool.concepts[is_type])
        return found | {"type_margin": margins(pool, found["type_share"])}


def margins(pool: Pool, values: Floats) -> Floats:
    """Return the difference between each value and the best value of the same mention; NaN stays NaN."""
    if not len(pool):
        return values
    known = np.where(np.isnan(values), -np.inf, values)
    starts = pool.offsets[:-1][np.diff(pool.offsets) > 0]
    best = np.repeat(np.maximum.reduceat(known, starts), np.diff(pool.offsets)[np.diff(pool.offsets) > 0])
    return np.asarray(np.where(np.isnan(values), np.nan, best - values), dtype=np.float64)


def ranks(pool: Pool, values: Floats) -> Floats:
    """Return, for each pair, the number of strictly better candidates of the same mention."""
    order = np.lexsort((-values, pool.owners))
    found = np.empty(len(pool))
    position = np.arange(len(pool)) - pool.offsets[pool.owners[order]]
    new = np.ones(len(pool), dtype=bool)
    new[1:] = (values[order][1:] != values[order][:-1]) | (pool.owners[order][1:] != pool.owners[order][:-1])
    found[order] = np.maximum.accumulate(np.where(new, np.arange(len(pool)), 0)) - np.arange(len(pool)) + position
    return found


def _exactness(pool: Pool) -> dict[str, Floats]:
    mentions = pool.mentions
    decided = pool.spread({mention.decided: 1.0} for mention in mentions)
    return {
        "is_named": pool.spread(dict.fromkeys(mention.named_query, 1.0) for mention in mentions),
        "is_surface_named": pool.spread(dict.fromkeys(mention.named_surface, 1.0) for mention in mentions),
        "named": pool.repeat(len(mention.named_query) for mention in mentions),
        "surface_named": pool.repeat(len(mention.named_surface) for mention in mentions),
        "decides": decided + pool.repeat(np.nan if mention.decided < 0 else 0.0 for mention in mentions),
        "candidates": np.diff(pool.offsets)[pool.owners].astype(np.float64),
    }


def _document(pool: Pool) -> dict[str, Floats]:
    """Return the features that depend on the other mentions of the document."""
    mentions = pool.mentions
    supports = find_support(
        [(mention.doc, mention.query, mention.named_query, mention.recalled_query) for mention in mentions], pool.row_of
    )
    support = np.zeros((len(pool), len(SUPPORT)))
    for row, *values in chain.from_iterable(supports):
        support[row] = values
    return dict(zip(SUPPORT, support.T, strict=True)) | {
        "alias": pool.spread(pool.aliases) + pool.repeat(0.0 if mention.aliases else np.nan for mention in mentions),
        "repeated": pool.repeat(mention.repeated for mention in mentions),
        "is_expanded": pool.repeat(mention.query != mention.surface for mention in mentions),
    }


SUPPORT = ("named_elsewhere", "recalled_elsewhere", "named_longer")
"""The features that say which other mentions of the document may mean the concept."""
Support = tuple[tuple[int, int, int, bool], ...]
"""What a document says of a mention's candidates: row of the candidate, and the values of the columns `SUPPORT`."""


def find_support(
    mentions: Sequence[tuple[int, str, Iterable[int], Iterable[int]]], row_of: Sequence[Mapping[int, int]]
) -> list[Support]:
    """Return for each mention what the other mentions of its document say of its candidates.

    `mentions` holds the document, the query, and the concepts that have the query as a name and in the memory; `row_of` maps
    the candidates of each mention to rows.
    """
    named: dict[int, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    recalled: dict[int, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for doc, query, *both in mentions:
        for queries, concepts in zip((named[doc], recalled[doc]), both, strict=True):
            for concept in concepts:
                queries[concept].add(query)
    return [_support(query, rows, named[doc], recalled[doc]) for (doc, query, *_), rows in zip(mentions, row_of, strict=True)]


def _support(query: str, row_of: Mapping[int, int], named: Mapping[int, set[str]], recalled: Mapping[int, set[str]]) -> Support:
    found = []
    for concept in row_of:  # few; the document may name many
        if concept not in named and concept not in recalled:
            continue
        one, other = (queries.get(concept, set()) - {query} for queries in (named, recalled))
        if one or other:
            longer = any(is_longer(each, query) for each in one | other)
            found.append((row_of[concept], len(one), len(other), longer))
    return tuple(sorted(found))


def is_longer(query: str, other: str) -> bool:
    """Return whether `query` contains all words of `other` and at least one more."""
    return set(query.split()) > set(other.split())


def _agreement(pool: Pool, columns: dict[str, Floats]) -> dict[str, Floats]:
    """Return two columns: the number of sources that rank the concept first, and the number that propose it."""
    recalled = ranks(pool, columns["recalled"]) if len(pool) else np.zeros(0)
    firsts = (columns["tfidf_rank"] == 0).astype(float) + ((recalled == 0) & (columns["recalled"] > 0)) + columns["is_named"]
    proposals = (columns["recalled"] > 0).astype(float) + columns["is_named"]
    for found in pool.ranks.values():
        firsts = firsts + (found == 0)
        proposals = proposals + ~np.isnan(found)
    return {"firsts": firsts, "proposals": proposals}


def _mention(pool: Pool) -> dict[str, Floats]:
    rows = [
        (
            len(m.query),
            len(m.query.split()),
            sum(c.isupper() or c.isdigit() for c in m.mention.surface) / len(m.mention.surface),
        )
        for m in pool.mentions
    ]
    return {key: column[pool.owners] for key, column in _columns(("length", "words", "capitals"), rows).items()}


def _columns(keys: Sequence[str], rows: Sequence[Sequence[float]]) -> dict[str, Floats]:
    """Convert rows of numbers to columns by name."""
    return dict(zip(keys, np.array(rows, dtype=np.float64).reshape(-1, len(keys)).T, strict=True))


class _NameWords(NamedTuple):
    """The words of a name without plural s: the last word, all words, and words with a digit or of one character."""

    last: str
    all: frozenset[str]
    numbers: frozenset[str]


@lru_cache(_CACHE_SIZE)
def _words(text: str) -> _NameWords:
    words = [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in text.split()]
    return _NameWords(words[-1] if words else "", frozenset(words), frozenset(filter(_NUMBER.search, words)))


def _word_features(query: _NameWords, name: _NameWords) -> tuple[int, int, bool, bool]:
    shared = len(query.all & name.all)
    return len(query.all) - shared, len(name.all) - shared, query.last == name.last, query.numbers == name.numbers


def _lengths(lists: Ragged) -> Floats:
    return np.diff(lists.offsets.astype(np.int64)).astype(np.float64)


def _first_sources(kb: KnowledgeBase) -> Ints:
    """Return the first source of each term."""
    lists = kb.term_sources
    counts = np.diff(lists.offsets.astype(np.int64))
    found = np.full(len(counts), len(kb.sources), dtype=np.int64)
    has = counts > 0
    if has.any():
        found[has] = np.minimum.reduceat(lists.values.astype(np.int64), lists.offsets[:-1].astype(np.int64)[has])
    return found
