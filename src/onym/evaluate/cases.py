"""What is judged: a mention, the concepts it means, and what a system answered, best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import TypeVar

from onym.corpora.base import PART_OF
from onym.kb import KnowledgeBase
from onym.kb.curie import to_curie
from onym.predictions.file import Answer
from onym.types import Document, Mention

Ids = frozenset[str]
"""Concept ids that are meant together: one, or all those of a composite."""
Rank = tuple[Ids, ...]
"""The answers that share a score. More than one is a tie."""
Ranking = tuple[Rank, ...]
"""A system's answers to one mention, best first."""
Key = tuple[str, int, int]
"""A document's id and the mention's start and end in it."""
Same = Callable[[str], str]
"""Brings the ids of a concept (its own, alternative and replaced ones) to one."""
Mark = TypeVar("Mark")


@dataclass(frozen=True, slots=True)
class Case:
    """One question put to a system: a mention, or the parts into which a preparation cut a composite one.

    `rankings` holds a ranking for each of `mentions`, `names` the same answers with a rank for each name that led to them; it
    is empty where a score is never that of two names. `scores` are those of the ranks of `rankings`, where they are known.
    `is_reachable` says whether all of `gold` is in the knowledge base.

    >>> Case("1", frozenset({"a:1"}), (((frozenset({"a:1"}),),),)).is_composite
    False
    """

    document_id: str
    gold: Ids
    rankings: tuple[Ranking, ...]
    is_reachable: bool = True
    names: tuple[Ranking, ...] = ()
    scores: tuple[tuple[float, ...], ...] = ()
    mentions: tuple[Mention, ...] = field(default=(), repr=False)
    document: Document | None = field(default=None, repr=False, compare=False)

    @property
    def is_composite(self) -> bool:
        """True where the mention means more than one concept."""
        return len(self.gold) > 1


def ranking_of(answers: Iterable[tuple[Iterable[str], object]], same: Same = str) -> Ranking:
    """Put answers, best first, into ranks by their score or their name; one that stands there already is not repeated.

    >>> tie = [(["a:1"], 1.0), (["a:2"], 1.0), (["a:3"], 0.5)]
    >>> [[sorted(ids) for ids in rank] for rank in ranking_of(tie)]
    [[['a:1'], ['a:2']], [['a:3']]]
    """
    return tuple(rank for rank, _ in _ranks(answers, same))


def _ranks(answers: Iterable[tuple[Iterable[str], Mark]], same: Same) -> Iterator[tuple[Rank, Mark]]:
    """Yield each rank with the score, or whatever else, that its answers share."""
    seen: set[Ids] = set()
    for mark, group in groupby(answers, key=lambda answer: answer[1]):
        rank = dict.fromkeys(frozenset(map(same, ids)) for ids, _ in group)
        if fresh := tuple(ids for ids in rank if ids not in seen):
            yield fresh, mark
            seen.update(fresh)


class Known:
    """What ids lead to in a knowledge base, after `replaced` is followed; without one every id is a concept of its own.

    >>> known = Known(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> known.same("MESH:D009203"), known.same("mesh:D999999"), sorted(known.claims("omim:608446"))
    ('mesh:D009203', 'mesh:D999999', ['mesh:D009203'])
    """

    def __init__(self, kb: KnowledgeBase | None = None, replaced: Mapping[str, str] = MappingProxyType({})) -> None:
        self._kb = kb
        self._replaced = replaced
        self._same: dict[str, str] = {}
        self._claims: dict[str, Ids] = {}

    def same(self, concept_id: str) -> str:
        """Return the concept that an id leads to; an id that leads to none or to several stays what it is."""
        if concept_id not in self._same:
            current = self._current(concept_id)
            found = self._kb.resolve(current) if self._kb else ()
            self._same[concept_id] = self._kb.concept_ids[found[0]] if self._kb and len(found) == 1 else current
        return self._same[concept_id]

    def claims(self, concept_id: str) -> Ids:
        """Return every concept that has this id as its own or as another one of it."""
        if concept_id not in self._claims:
            current = self._current(concept_id)
            found = self._kb.concepts_with_id(current) if self._kb else ()
            self._claims[concept_id] = frozenset(self._kb.concept_ids[c] for c in found) if self._kb else frozenset({current})
        return self._claims[concept_id]

    def _current(self, concept_id: str) -> str:
        curie = to_curie(concept_id)
        return self._replaced.get(curie, curie)


def gold_cases(
    documents: Iterable[Document], answers: Callable[[Key], Iterable[Answer]], known: Known | None = None
) -> list[Case]:
    """Return a case for every mention with a gold id; the parts of one composite, which share a note, are one case.

    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> [sorted(case.gold) for case in gold_cases([doc], lambda key: ())]
    [['mesh:D005334']]
    """
    known = known or Known()
    return [_case(doc, group, answers, known) for doc in documents for group in _questions(doc)]


def _case(doc: Document, group: list[Mention], answers: Callable[[Key], Iterable[Answer]], known: Known) -> Case:
    gold = list(dict.fromkeys(concept_id for mention in group for concept_id in mention.concept_ids))
    meant = _meant(gold, known)
    given = [sorted(answers((doc.id, each.start, each.end)), key=lambda one: (-one[1], one[2])) for each in group]

    def same(concept_id: str) -> str:
        return meant.get(known.same(concept_id), known.same(concept_id))

    scored = [list(_ranks(((ids, score) for ids, score, _ in each), same)) for each in given]
    return Case(
        document_id=doc.id,
        gold=frozenset(meant.values()),
        rankings=tuple(tuple(rank for rank, _ in ranks) for ranks in scored),
        is_reachable=all(map(known.claims, gold)),
        names=tuple(ranking_of(((ids, (score, name)) for ids, score, name in each), same) for each in given),
        scores=tuple(tuple(score for _, score in ranks) for ranks in scored),
        mentions=tuple(group),
        document=doc,
    )


def _meant(gold: list[str], known: Known) -> dict[str, str]:
    """Return each concept that a gold id may mean, with the one name under which it is judged.

    Ids that share a concept are ids of one: a dictionary may give a concept several, and an id to several concepts.
    """
    groups: list[set[str]] = []
    for concept_id in gold:
        group = {known.same(concept_id), *known.claims(concept_id)}
        for other in [each for each in groups if each & group]:
            groups.remove(other)
            group = other | group
        groups.append(group)
    names = set(map(known.same, gold))
    return {concept: min(names & group) for group in groups for concept in group}


def _questions(doc: Document) -> list[list[Mention]]:
    questions: dict[object, list[Mention]] = {}
    for number, mention in enumerate(doc.mentions):
        if mention.concept_ids:
            questions.setdefault(dict(mention.notes).get(PART_OF, number), []).append(mention)
    return list(questions.values())
