"""The most frequent errors of an evaluation, and random examples.

On annotated mentions, an error is reported with the wrong answer, its relation to gold (`onym.evaluate.near_misses`), the
runner-up and the rank of gold. Examples are a few right and a few wrong mentions, each with its best candidates and their
scores. End to end, there are five kinds of errors:

| kind | definition |
|---|---|
| `missed` | a gold mention that no predicted mention overlaps |
| `unlinked` | a gold mention that was found, but left without a concept |
| `wrong concept` | a gold mention that was found and linked to another concept |
| `wrong span` | a gold mention whose concept was predicted at another, overlapping span; right under the partial protocols |
| `spurious` | a linked mention that overlaps no gold mention |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from onym.evaluate.cases import CanonicalId, Case, Ids
from onym.evaluate.near_misses import NearMisses, Nearness, Neighbourhood
from onym.kb import KnowledgeBase
from onym.text.normal import normal_name
from onym.types import Document, Mention

OF_EACH = 6
"""The number of right examples, and of wrong ones."""
NEIGHBOURS = 5
"""The number of candidates shown per example."""
KINDS = ("missed", "unlinked", "wrong concept", "wrong span", "spurious")


@dataclass(frozen=True, slots=True)
class NamedConcepts:
    """Concept ids with their preferred names; several for a tie or a composite mention."""

    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, ids: Iterable[str], kb: KnowledgeBase) -> NamedConcepts:
        """Look up the preferred names of ids; the name of an unknown or ambiguous id is the id itself.

        >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
        >>> NamedConcepts.of(["mesh:D005334", "mesh:D000000"], kb).names
        ('Fever', 'mesh:D000000')
        """
        ids = tuple(ids)
        return cls(ids, tuple(_name(concept_id, kb) for concept_id in ids))


@dataclass(frozen=True, slots=True)
class Mistake:
    """An error with its frequency: cases with the same normalised surface, gold concepts and answer are counted together.

    `tied` is the number of answers with the best score (0 if there was no answer). `runner_up` is the most frequent answer with
    the second-best score. `found` is the number of cases with the right answer anywhere in the ranking, and `gold_ranks`
    holds (rank, number of cases) pairs for these cases, best rank first. `nearness` is None if the KB has no hierarchy.
    """

    count: int
    surface: str = field(repr=False)
    gold: NamedConcepts = field(repr=False)
    answered: NamedConcepts = field(repr=False)
    tied: int
    runner_up: NamedConcepts = field(repr=False)
    found: int
    gold_ranks: tuple[tuple[int, int], ...]
    nearness: Nearness | None = None

    @property
    def best_gold_rank(self) -> int | None:
        """The best rank of gold, or None if gold was in no ranking."""
        return self.gold_ranks[0][0] if self.gold_ranks else None


def common_mistakes(cases: Sequence[Case], ranks: Sequence[int | None], kb: KnowledgeBase, limit: int = 20) -> list[Mistake]:
    """Return the most frequent errors; `ranks` are the ranks of gold; cases with a rank other than 1 are errors.

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
            key = (normal_name(surface_of(case)), tuple(sorted(case.gold)), case.answer_ids())
            groups.setdefault(key, []).append(index)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))[:limit]
    near = Neighbourhood.open(kb)
    return [_mistake([cases[i] for i in rows], [ranks[i] for i in rows], kb, near) for _, rows in ordered]


def _mistake(cases: list[Case], ranks: list[int | None], kb: KnowledgeBase, near: Neighbourhood | None) -> Mistake:
    first = cases[0]
    seconds = Counter(case.answer_ids(1) for case in cases)
    second = min(seconds, key=lambda ids: (-seconds[ids], ids))
    found = Counter(rank for rank in ranks if rank is not None)
    return Mistake(
        count=len(cases),
        surface=surface_of(first),
        gold=NamedConcepts.of(sorted(first.gold), kb),
        answered=NamedConcepts.of(first.answer_ids(), kb),
        tied=first.tie_size,
        runner_up=NamedConcepts.of(second, kb),
        found=found.total(),
        gold_ranks=tuple(sorted(found.items())),
        nearness=near.relate(first.answer_ids(), first.gold) if near else None,
    )


def surface_of(case: Case) -> str:
    """Return the surface of the mention; if the mention was split, join the surfaces of its parts by `|`."""
    return " | ".join(mention.surface for mention in case.mentions)


def _name(concept_id: str, kb: KnowledgeBase) -> str:
    rows = kb.resolve(concept_id)
    return kb.preferred_form(rows[0]) if len(rows) == 1 else concept_id


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A candidate: its rank from 1, its score, and whether it is a gold concept."""

    rank: int
    concepts: NamedConcepts = field(repr=False)
    score: float
    is_gold: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A mention, its gold concepts and its best candidates; if gold is ranked lower, the gold candidate is appended.

    `gold_rank` is the rank of gold under the protocol, or None if no answer is right.
    """

    surface: str = field(repr=False)
    gold: NamedConcepts = field(repr=False)
    is_in_kb: bool
    gold_rank: int | None
    neighbours: tuple[Neighbour, ...]

    @property
    def is_right(self) -> bool:
        """Whether gold is at rank 1."""
        return self.gold_rank == 1


def examples_of(
    cases: Sequence[Case], ranks: Sequence[int | None], kb: KnowledgeBase, of_each: int = OF_EACH, seed: int = 0
) -> list[Example]:
    """Sample up to `of_each` right and `of_each` wrong mentions, without duplicates.

    Mentions without candidates and mentions split into parts are never sampled. If all scores are equal, the candidates are not
    ranked and there are no examples.

    >>> from onym.types import Mention
    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> ranking = ((frozenset({"mesh:D005334"}),), (frozenset({"mesh:D006973"}),))
    >>> case = Case("1", frozenset({"mesh:D006973"}), (ranking,), scores=((0.9, 0.5),), mentions=(Mention(0, 3, "hot"),))
    >>> [example] = examples_of([case], [2], kb)
    >>> [(each.concepts.names, each.score, each.is_gold) for each in example.neighbours]
    [(('Fever',), 0.9, False), (('Hypertension',), 0.5, True)]
    """
    drawable = [row for row, case in enumerate(cases) if len(case.mentions) == 1 and case.scores and case.scores[0]]
    if len({score for row in drawable for score in cases[row].scores[0]}) < 2:
        return []
    order = [drawable[index] for index in np.random.default_rng(seed).permutation(len(drawable)).tolist()]
    seen: dict[tuple[str, Ids, bool], int] = {}
    for row in order:
        seen.setdefault((normal_name(surface_of(cases[row])), cases[row].gold, ranks[row] == 1), row)
    right = [row for row in seen.values() if ranks[row] == 1]
    wrong = [row for row in seen.values() if ranks[row] != 1]
    return [_example(cases[row], ranks[row], kb) for row in right[:of_each] + wrong[:of_each]]


def _example(case: Case, gold_rank: int | None, kb: KnowledgeBase) -> Example:
    answers = list(enumerate(_answers(case), 1))
    further = next((each for each in answers[NEIGHBOURS:] if each[1][0] & case.gold), None)
    is_among = any(ids & case.gold for _, (ids, _) in answers[:NEIGHBOURS])
    best = answers[:NEIGHBOURS] + ([further] if further and not is_among else [])
    return Example(
        surface=surface_of(case),
        gold=NamedConcepts.of(sorted(case.gold), kb),
        is_in_kb=case.is_in_kb,
        gold_rank=gold_rank,
        neighbours=tuple(
            Neighbour(rank, NamedConcepts.of(sorted(ids), kb), score, bool(ids & case.gold)) for rank, (ids, score) in best
        ),
    )


def _answers(case: Case) -> Iterator[tuple[Ids, float]]:
    """Yield each answer with its score, best first."""
    for group, score in zip(case.rankings[0], case.scores[0], strict=True):
        yield from ((ids, score) for ids in group)


@dataclass(frozen=True, slots=True)
class EndToEndMistake:
    """An error with its frequency; `gold` is empty for spurious mentions, `predicted` for missed mentions.

    `nearness` is None unless the concept is wrong and the knowledge base has a hierarchy.
    """

    kind: str
    count: int
    surface: str = field(repr=False)
    gold: NamedConcepts = field(repr=False)
    predicted_surface: str = field(repr=False)
    predicted: NamedConcepts = field(repr=False)
    nearness: Nearness | None = None


@dataclass(frozen=True, slots=True)
class EndToEndMistakes:
    """The number of errors of each kind, and the most frequent errors of each kind.

    `near_misses` relates the wrong concepts to the gold concepts; it is None if the knowledge base has no hierarchy.
    """

    counts: dict[str, int]
    commonest: tuple[EndToEndMistake, ...]
    near_misses: NearMisses | None = None

    def of_kind(self, kind: str) -> list[EndToEndMistake]:
        """Return the most frequent errors of a kind."""
        return [mistake for mistake in self.commonest if mistake.kind == kind]


def find_mistakes(
    gold: Sequence[Document],
    predicted: Sequence[Document],
    kb: KnowledgeBase,
    canonical: CanonicalId = str,
    *,
    limit: int = 20,
) -> EndToEndMistakes:
    """Compare predicted and gold documents, which are in the same order; keep `limit` errors of each kind.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> gold = Document("1", "high fever", (Mention(5, 10, "fever", ("mesh:D005334",)),))
    >>> mistakes = find_mistakes([gold], [Document("1", "high fever")], kb)
    >>> mistakes.counts["missed"], mistakes.commonest[0].gold.names
    (1, ('Fever',))
    """
    groups: dict[_ErrorKey, list[_Error]] = {}
    for gold_doc, predicted_doc in zip(gold, predicted, strict=True):
        for error in _errors(_canonical_ids(gold_doc.mentions, canonical), _canonical_ids(predicted_doc.mentions, canonical)):
            groups.setdefault(error.key, []).append(error)
    near = Neighbourhood.open(kb)
    counts = dict.fromkeys(KINDS, 0)
    frequent: list[EndToEndMistake] = []
    for kind in KINDS:
        own = sorted(
            ((key, errors) for key, errors in groups.items() if key[0] == kind), key=lambda item: (-len(item[1]), item[0])
        )
        counts[kind] = sum(len(errors) for _, errors in own)
        frequent += [_end_to_end_mistake(errors, kb, near) for _, errors in own[:limit]]
    found = (_relate_error(error, near) for errors in groups.values() for error in errors)
    near_misses = NearMisses.of(each for each in found if each) if near else None
    return EndToEndMistakes(counts, tuple(frequent), near_misses)


_ErrorKey = tuple[str, str, tuple[str, ...], str, tuple[str, ...]]
_Linked = tuple[Mention, Ids]


@dataclass(frozen=True, slots=True)
class _Error:
    kind: str
    gold: _Linked | None
    predicted: _Linked | None

    @property
    def key(self) -> _ErrorKey:
        """The key by which equal errors are counted together."""
        gold, predicted = _normal_key(self.gold), _normal_key(self.predicted)
        return self.kind, *gold, *predicted


def _normal_key(linked: _Linked | None) -> tuple[str, tuple[str, ...]]:
    return ("", ()) if linked is None else (normal_name(linked[0].surface), tuple(sorted(linked[1])))


def _canonical_ids(mentions: Iterable[Mention], canonical: CanonicalId) -> list[_Linked]:
    return [(mention, frozenset(map(canonical, mention.concept_ids))) for mention in mentions]


def _errors(gold: list[_Linked], predicted: list[_Linked]) -> Iterator[_Error]:
    gold = [each for each in gold if each[1]]
    for one in gold:
        overlapping = [each for each in predicted if _overlap(one[0], each[0]) > 0]
        if kind := _kind(one, overlapping):
            best = max(overlapping, key=lambda each: (bool(each[1]), _overlap(one[0], each[0])), default=None)
            yield _Error(kind, one, best)
    for each in predicted:
        if each[1] and not any(_overlap(each[0], one[0]) > 0 for one in gold):
            yield _Error("spurious", None, each)


def _kind(gold: _Linked, overlapping: list[_Linked]) -> str:
    """Return the kind of error for a gold mention; empty if it is right under the strict protocol."""
    mention, ids = gold
    at_span = [each for other, each in overlapping if (other.start, other.end) == (mention.start, mention.end)]
    if ids <= frozenset().union(*at_span):
        return ""
    if not overlapping:
        return "missed"
    predicted_ids: Ids = frozenset().union(*(each for _, each in overlapping))
    if not predicted_ids:
        return "unlinked"
    return "wrong span" if ids <= predicted_ids else "wrong concept"


def _overlap(one: Mention, other: Mention) -> int:
    return min(one.end, other.end) - max(one.start, other.start)


def _relate_error(error: _Error, near: Neighbourhood | None) -> Nearness | None:
    if near is None or error.kind != "wrong concept" or error.gold is None or error.predicted is None:
        return None
    return near.relate(error.predicted[1], error.gold[1])


def _end_to_end_mistake(errors: list[_Error], kb: KnowledgeBase, near: Neighbourhood | None) -> EndToEndMistake:
    first = errors[0]
    return EndToEndMistake(
        kind=first.kind,
        count=len(errors),
        surface=first.gold[0].surface if first.gold else "",
        gold=NamedConcepts.of(sorted(first.gold[1]) if first.gold else (), kb),
        predicted_surface=first.predicted[0].surface if first.predicted else "",
        predicted=NamedConcepts.of(sorted(first.predicted[1]) if first.predicted else (), kb),
        nearness=_relate_error(first, near),
    )
