"""The most frequent linking errors: the mention, the wrong answer, the runner-up, and the rank of gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from onym.evaluate.cases import Case, Ids, TieGroup
from onym.kb import KnowledgeBase
from onym.text.normal import normal_name


@dataclass(frozen=True, slots=True)
class NamedConcepts:
    """Concept ids with their preferred names. More than one is a tie or a composite."""

    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, ids: Iterable[str], kb: KnowledgeBase) -> NamedConcepts:
        """Look the names up; an id of no concept, or of several, is its own name.

        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> NamedConcepts.of(["mesh:D005334", "mesh:D000000"], kb).names
        ('Fever', 'mesh:D000000')
        """
        ids = tuple(ids)
        return cls(ids, tuple(_name(concept_id, kb) for concept_id in ids))


@dataclass(frozen=True, slots=True)
class Mistake:
    """An error and how often it was made: the same normalised surface, the same gold, the same answer.

    `tied` is how many answers shared the best score (0: there was no answer). `runner_up` is the most frequent answer with the
    second-best score. `found` counts the cases whose ranking had the right answer at all, and `gold_ranks` holds its ranks,
    best first, each with how often it occurred.
    """

    count: int
    surface: str = field(repr=False)
    gold: NamedConcepts = field(repr=False)
    answered: NamedConcepts = field(repr=False)
    tied: int
    runner_up: NamedConcepts = field(repr=False)
    found: int
    gold_ranks: tuple[tuple[int, int], ...]

    @property
    def best_gold_rank(self) -> int | None:
        """The best rank of gold, or None where it was in no ranking."""
        return self.gold_ranks[0][0] if self.gold_ranks else None


def common_mistakes(cases: Sequence[Case], ranks: Sequence[int | None], kb: KnowledgeBase, limit: int = 20) -> list[Mistake]:
    """Return the most frequent errors; `ranks` are the ranks of gold under a protocol, and a case is right at rank 1 only.

    Equally frequent errors are ordered by surface, gold and answer.

    >>> from onym.evaluate.metrics import gold_ranks
    >>> from onym.types import Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> ranking = ((frozenset({"mesh:D005334"}),), (frozenset({"mesh:D006973"}),))
    >>> case = Case("1", frozenset({"mesh:D006973"}), (ranking,), mentions=(Mention(0, 3, "hot"),))
    >>> mistake = common_mistakes([case], gold_ranks([case], "strict"), kb)[0]
    >>> mistake.answered.names, mistake.runner_up.names, mistake.best_gold_rank
    (('Fever',), ('Hypertension',), 2)
    """
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[int]] = {}
    for index, (case, rank) in enumerate(zip(cases, ranks, strict=True)):
        if rank != 1:
            key = (normal_name(surface_of(case)), tuple(sorted(case.gold)), _ids(_tie_group(case, 0)))
            groups.setdefault(key, []).append(index)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))[:limit]
    return [_mistake([cases[i] for i in rows], [ranks[i] for i in rows], kb) for _, rows in ordered]


def _mistake(cases: list[Case], ranks: list[int | None], kb: KnowledgeBase) -> Mistake:
    first = cases[0]
    seconds = Counter(_ids(_tie_group(case, 1)) for case in cases)
    second = min(seconds, key=lambda ids: (-seconds[ids], ids))
    found = Counter(rank for rank in ranks if rank is not None)
    return Mistake(
        count=len(cases),
        surface=surface_of(first),
        gold=NamedConcepts.of(sorted(first.gold), kb),
        answered=NamedConcepts.of(_ids(_tie_group(first, 0)), kb),
        tied=first.tied,
        runner_up=NamedConcepts.of(second, kb),
        found=found.total(),
        gold_ranks=tuple(sorted(found.items())),
    )


def surface_of(case: Case) -> str:
    """Return the surface of the mention; of a composite, the surfaces of its parts."""
    return " | ".join(mention.surface for mention in case.mentions)


def _tie_group(case: Case, number: int) -> TieGroup:
    """Return the answers with the best score (0), the second-best (1) and so on, those of all parts together."""
    return tuple(ids for ranking in case.rankings if len(ranking) > number for ids in ranking[number])


def _ids(group: Iterable[Ids]) -> tuple[str, ...]:
    return tuple(sorted({concept_id for ids in group for concept_id in ids}))


def _name(concept_id: str, kb: KnowledgeBase) -> str:
    rows = kb.resolve(concept_id)
    return kb.preferred_form(rows[0]) if len(rows) == 1 else concept_id
