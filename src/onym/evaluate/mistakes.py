"""The most frequent errors: which mention was taken for what, what stood second, and where the right concept was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from onym.evaluate.cases import Case, Ids, Rank
from onym.kb import KnowledgeBase
from onym.text.normal import normal_name


@dataclass(frozen=True, slots=True)
class Answer:
    """The concepts of one score: their ids and the names that a person should see. More than one is a tie or a composite."""

    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mistake:
    """An error and how often it was made: the same normalised surface, the same gold, the same answer.

    `tied` is how many answers shared the best score (0: there was no answer). `runner_up` is the answer of the next score that
    stood there most often. `found` is in how many of the cases the ranking had the right answer at all, and `places` the place
    where the protocol counts it, with how often it was there, the best place first.
    """

    count: int
    surface: str = field(repr=False)
    gold: Answer = field(repr=False)
    answered: Answer = field(repr=False)
    tied: int
    runner_up: Answer = field(repr=False)
    found: int
    places: tuple[tuple[int, int], ...]

    @property
    def best_place(self) -> int | None:
        """The best place of the right answer, or None where it was in no ranking."""
        return self.places[0][0] if self.places else None


def most_frequent_mistakes(
    cases: Sequence[Case], places: Sequence[int | None], kb: KnowledgeBase, limit: int = 20
) -> list[Mistake]:
    """Return the errors made most often; `places` are those of the right answers under a protocol, and 1 alone is right.

    Errors made equally often stand in the order of surface, gold and answer.

    >>> from onym.evaluate.metrics import places_of
    >>> from onym.types import Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> ranking = ((frozenset({"mesh:D005334"}),), (frozenset({"mesh:D006973"}),))
    >>> case = Case("1", frozenset({"mesh:D006973"}), (ranking,), mentions=(Mention(0, 3, "hot"),))
    >>> mistake = most_frequent_mistakes([case], places_of([case], "strict"), kb)[0]
    >>> mistake.answered.names, mistake.runner_up.names, mistake.best_place
    (('Fever',), ('Hypertension',), 2)
    """
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[int]] = {}
    for index, (case, place) in enumerate(zip(cases, places, strict=True)):
        if place != 1:
            key = (normal_name(surface_of(case)), tuple(sorted(case.gold)), _ids(_rank(case, 0)))
            groups.setdefault(key, []).append(index)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))[:limit]
    return [_mistake([cases[i] for i in rows], [places[i] for i in rows], kb) for _, rows in ordered]


def _mistake(cases: list[Case], places: list[int | None], kb: KnowledgeBase) -> Mistake:
    first = cases[0]
    seconds = Counter(_ids(_rank(case, 1)) for case in cases)
    second = min(seconds, key=lambda ids: (-seconds[ids], ids))
    found = Counter(place for place in places if place is not None)
    return Mistake(
        count=len(cases),
        surface=surface_of(first),
        gold=named_answer(sorted(first.gold), kb),
        answered=named_answer(_ids(_rank(first, 0)), kb),
        tied=max((len(ranking[0]) for ranking in first.rankings if ranking), default=0),
        runner_up=named_answer(second, kb),
        found=found.total(),
        places=tuple(sorted(found.items())),
    )


def surface_of(case: Case) -> str:
    """Return the mention as it is written, its parts side by side."""
    return " | ".join(mention.surface for mention in case.mentions)


def _rank(case: Case, number: int) -> Rank:
    """Return the answers of a rank, those of all parts together."""
    return tuple(ids for ranking in case.rankings if len(ranking) > number for ids in ranking[number])


def _ids(rank: Iterable[Ids]) -> tuple[str, ...]:
    return tuple(sorted({concept_id for ids in rank for concept_id in ids}))


def named_answer(ids: Iterable[str], kb: KnowledgeBase) -> Answer:
    """Return concepts with the names that the knowledge base has for people."""
    ids = tuple(ids)
    return Answer(ids, tuple(_name(concept_id, kb) for concept_id in ids))


def _name(concept_id: str, kb: KnowledgeBase) -> str:
    """Return the name of a concept, or its id where the knowledge base has none, or several, of this id."""
    found = kb.resolve(concept_id)
    return kb.preferred_form(found[0]) if len(found) == 1 else concept_id
