"""Turns scored names into ranked concepts, for every linker, in the order of `onym.kb.order`.

Masks restrict the concepts by semantic group, type, id or branch of the hierarchy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field

from onym.config import Strict
from onym.errors import ConfigError
from onym.kb.knowledge_base import KnowledgeBase
from onym.types import Candidate, Link, Mention

ConceptMask = npt.NDArray[np.bool_]
"""For each concept of a knowledge base, whether it is allowed as an answer."""


class ConceptFilter(Strict):
    """Says which concepts are allowed as answers. A concept must match all fields that are given; without any, all are allowed.

    Each field is an option of a pipeline, and of commands that select concepts. Fields added later (`under`, `not_under`,
    `mapped`) are not stored if they are empty, so that the digests of existing pipelines do not change.
    """

    types: tuple[str, ...] = Field(
        default=(), description="Only concepts of these semantic groups or types, separated by commas."
    )
    concepts: tuple[str, ...] = Field(default=(), description="Only the concepts with these ids.")
    under: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda ids: not ids,
        description="Only these concepts and all below them in the hierarchy: ids separated by commas. May be repeated.",
    )
    not_under: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda ids: not ids,
        description="Not these concepts, and none below them: ids separated by commas. May be repeated.",
    )
    mapped: bool = Field(
        default=False,
        exclude_if=lambda is_mapped: not is_mapped,
        description="With --under, --not-under: MeSH's supplementary records are below the headings they are mapped to.",
    )

    def without_branches(self) -> Self:
        """Return a copy without `under` and `not_under`.

        >>> ConceptFilter(types=("C14",), under=("D009203",)).without_branches()
        ConceptFilter(types=('C14',), concepts=(), under=(), not_under=(), mapped=False)
        """
        return self.model_copy(update={"under": (), "not_under": ()})


def concepts_of_types(kb: KnowledgeBase, types: Sequence[str]) -> ConceptMask:
    """Return a mask of the concepts with one of these semantic types or groups.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> int(concepts_of_types(kb, [kb.types[0]]).sum()) > 0
    True
    """
    levels = ((kb.types, kb.concept_types), (kb.groups, kb.concept_groups))
    rows = [[labels.find(name) for name in types] for labels, _ in levels]
    if missing := [name for name, *found in zip(types, *rows, strict=True) if max(found) < 0]:
        fix = "onym kb types KB lists the groups and types"
        raise ConfigError("filter-unknown", f"no concept has the semantic type or group {missing[0]!r}", fix=fix)
    mask = np.zeros(len(kb), dtype=bool)
    for (_, members), wanted in zip(levels, rows, strict=True):
        mask[members.owners()[np.isin(members.values, [row for row in wanted if row >= 0])]] = True
    return mask


def concepts_with_ids(kb: KnowledgeBase, concept_ids: Iterable[str]) -> ConceptMask:
    """Return a mask of the concepts with these ids; raise ConfigError if an id is unknown.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> int(concepts_with_ids(kb, ["D009203"]).sum())
    1
    """
    mask = np.zeros(len(kb), dtype=bool)
    for concept_id in concept_ids:
        found = kb.resolve(concept_id)
        if not found:
            fix = "find its id by name with onym kb search"
            raise ConfigError("filter-unknown", f"no concept has the id {concept_id!r}", fix=fix)
        mask[list(found)] = True
    return mask


def concepts_under(kb: KnowledgeBase, concept_ids: Iterable[str], *, mapped: bool = False, where: str = "") -> ConceptMask:
    """Return a mask of the concepts with these ids and all concepts below them; `where` names the option, for errors.

    With `mapped`, supplementary records of MeSH count as below the headings that they are mapped to.
    """
    kb.hierarchy.require_stored(where)
    top = [row for concept_id in concept_ids for row in kb.require_known(concept_id, where)]
    mask = np.zeros(len(kb), dtype=bool)
    mask[top] = True
    mask[kb.hierarchy.below(*top, mapped=mapped)] = True
    return mask


def describe_mask(mask: ConceptMask) -> dict[str, Any]:
    """Summarise a mask by its number of concepts and a digest, for result metadata.

    >>> describe_mask(np.array([True, False]))["concepts_allowed"], describe_mask(np.array([False, True]))
    (1, {'concepts_allowed': 1, 'concepts_digest': 'ba306db42978d701'})
    """
    digest = hashlib.sha256(f"{len(mask)} ".encode() + np.packbits(mask).tobytes()).hexdigest()[:16]
    return {"concepts_allowed": int(mask.sum()), "concepts_digest": digest}


def names_of(kb: KnowledgeBase, only: ConceptMask) -> npt.NDArray[np.bool_]:
    """Return a mask of the names that one of the concepts has.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> is_named = names_of(kb, concepts_with_ids(kb, ["D005334"]))
    >>> [kb.names[i] for i in np.flatnonzero(is_named)]
    ['fever', 'hyperthermia', 'pyrexia']
    """
    mask = np.zeros(len(kb.names), dtype=bool)
    mask[kb.name_concepts.owners()[only[kb.name_concepts.values]]] = True
    return mask


def own_names_of(kb: KnowledgeBase, only: ConceptMask) -> npt.NDArray[np.bool_]:
    """Return a mask of the names of the concepts in `only`, without names that only joined concepts of other vocabularies have.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> bool(own_names_of(kb, np.ones(len(kb), dtype=bool)).all())
    True
    """
    if kb.term_lent is None:
        return names_of(kb, only)
    first = kb.concept_terms.astype(np.int64)
    is_own = (kb.term_lent == 0) & np.repeat(only, first[1:] - first[:-1])
    mask = np.zeros(len(kb.names), dtype=bool)
    mask[kb.term_names[is_own]] = True
    return mask


def select_concepts(kb: KnowledgeBase, wanted: ConceptFilter) -> ConceptMask | None:
    """Return a mask of the concepts that a filter allows, or None if it allows all; raise ConfigError if it allows none.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> wanted = ConceptFilter(types=("C14",), concepts=("D009203", "D005334"))
    >>> select_concepts(kb, ConceptFilter()) is None, int(select_concepts(kb, wanted).sum())
    (True, 1)
    """
    masks = [concepts_of_types(kb, wanted.types)] if wanted.types else []
    masks += [concepts_with_ids(kb, wanted.concepts)] if wanted.concepts else []
    masks += [concepts_under(kb, wanted.under, mapped=wanted.mapped, where="--under")] if wanted.under else []
    masks += [~concepts_under(kb, wanted.not_under, mapped=wanted.mapped, where="--not-under")] if wanted.not_under else []
    return combine_masks(*masks)


def combine_masks(*masks: ConceptMask | None) -> ConceptMask | None:
    """Return a mask of the concepts that all masks allow; None allows all. Raise ConfigError if no concept is left.

    >>> combine_masks(None, np.array([True, False])).tolist()
    [True, False]
    """
    given = [mask for mask in masks if mask is not None]
    only = np.logical_and.reduce(given) if given else None
    if only is not None and not only.any():
        raise ConfigError("filter-empty", "no concept matches all filters", fix="drop one of the filters, or widen it")
    return only


def intersect(mask: ConceptMask | None, other: ConceptMask | None) -> ConceptMask | None:
    """Return a mask of the concepts that both masks allow, which may be none; without one of them, the other mask itself."""
    if mask is None or other is None:
        return other if mask is None else mask
    return mask & other


Best = Mapping[int, tuple[float, int]]
"""Concepts with their best score and the name that has it."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates for a mention, best first. `tied` counts the other concepts with the best score, beyond `top_k` too.

    `stage` is the part of a linker that found them, and `confidence` its own probability that the first one is right.
    """

    candidates: tuple[Candidate, ...] = ()
    tied: int = 0
    stage: str | None = None
    confidence: float | None = None

    def link(self, mention: Mention) -> Link:
        """Return a mention linked to these candidates."""
        return Link(mention, self.candidates, tied=self.tied, stage=self.stage, confidence=self.confidence)


def rank_concepts(kb: KnowledgeBase, names: Iterable[tuple[int, float]], top_k: int, only: ConceptMask | None = None) -> Ranked:
    """Return the concepts of scored names, best first, each once with its best name; ties are broken by `kb.order`.

    `names` holds rows of names with their scores, best first.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> ranked = rank_concepts(kb, [(kb.find("mi"), 1.0)], 1)
    >>> [candidate.concept_id for candidate in ranked.candidates], ranked.tied
    (['mesh:D006973'], 1)
    """
    return rank_scored(kb, best_of(kb, names, only), top_k)


def best_of(kb: KnowledgeBase, names: Iterable[tuple[int, float]], only: ConceptMask | None = None) -> Best:
    """Return the concepts of scored names (best first), each with its best score and name."""
    best: dict[int, tuple[float, int]] = {}
    for name, score in names:
        for concept in kb.name_concepts[name].tolist():
            if only is None or only[concept]:
                best.setdefault(concept, (score, name))
    return best


def best_of_each(
    kb: KnowledgeBase, found: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]], only: ConceptMask | None = None
) -> list[Best]:
    """Return what `best_of` returns, for several arrays of names and of their scores, best first."""
    lengths = [len(names) for names, _ in found]
    if not sum(lengths):
        return [{} for _ in found]
    names, scores = (np.concatenate([each[at] for each in found]) for at in range(2))
    lists = kb.name_concepts.take(names)
    times = np.diff(lists.offsets)
    owners = np.repeat(np.repeat(np.arange(len(found)), lengths), times)
    columns: tuple[npt.NDArray[Any], ...] = (owners, lists.values, np.repeat(scores, times), np.repeat(names, times))
    if only is not None:
        columns = tuple(column[only[lists.values]] for column in columns)
    best: list[dict[int, tuple[float, int]]] = [{} for _ in found]
    for owner, concept, score, name in zip(*(column.tolist() for column in columns), strict=True):
        best[owner].setdefault(concept, (score, name))
    return list(best)


def rank_scored(
    kb: KnowledgeBase, best: Best, top_k: int, *, stage: str | None = None, confidence: float | None = None
) -> Ranked:
    """Rank scored concepts and return the best `top_k` as candidates."""
    if not best or not top_k:
        return Ranked()
    ranked = list(islice(kb.order.rank(best), top_k))
    candidates = tuple(_candidate(kb, concept, name, score) for concept, score, name in ranked)
    return Ranked(candidates, sum(score == candidates[0].score for score, _ in best.values()) - 1, stage, confidence)


def _candidate(kb: KnowledgeBase, concept: int, name: int, score: float) -> Candidate:
    concept_id, form, preferred_name, group = kb.match_of(concept, name)
    return Candidate(concept_id, form, score, preferred_name, group)


def put_first(kb: KnowledgeBase, ranked: Ranked, concept: int, name: int) -> Ranked:
    """Return candidates with a concept first that a name decides. It gets the best score if it has a lower one.

    If more concepts have the best score than there are candidates, the concept is one of them.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> other, fever = kb.concept_ids.find("mesh:D009203"), kb.concept_ids.find("mesh:D005334")
    >>> ranked = rank_scored(kb, {other: (0.9, kb.find("heart attack"))}, 1)
    >>> [(each.concept_id, each.score) for each in put_first(kb, ranked, fever, kb.find("fever")).candidates]
    [('mesh:D005334', 0.9)]
    """
    concept_id = kb.concept_ids[concept]
    if not ranked.candidates or ranked.candidates[0].concept_id == concept_id:
        return ranked
    best = ranked.candidates[0].score
    first = _candidate(kb, concept, name, best)
    rest = [each for each in ranked.candidates if each.concept_id != concept_id]
    is_tied = ranked.tied >= len(ranked.candidates)
    is_tied |= any(each.concept_id == concept_id and each.score == best for each in ranked.candidates)
    return replace(ranked, candidates=(first, *rest)[: len(ranked.candidates)], tied=ranked.tied + (not is_tied))
