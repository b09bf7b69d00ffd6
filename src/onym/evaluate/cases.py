"""Test cases: a mention, its gold concepts, and the ranked answers (predicted concepts) of a system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import TypeVar

from onym.corpora.base import PART_OF
from onym.kb import KnowledgeBase
from onym.kb.curie import to_curie
from onym.outputs.predictions import Answer, DocumentNames, Key
from onym.types import Document, Mention

Ids = frozenset[str]
"""The concept ids of one answer or one mention: one id, or several for a composite mention."""
TieGroup = tuple[Ids, ...]
"""The answers with the same score; more than one is a tie."""
Ranking = tuple[TieGroup, ...]
"""The answers of a system to one mention, best first."""
CanonicalId = Callable[[str], str]
"""Maps every id of a concept (primary, alternative, retired) to one canonical id."""
Mark = TypeVar("Mark")


@dataclass(frozen=True, slots=True)
class Case:
    """A mention to link, or all parts of a composite mention that the dataset preparation split into parts.

    `rankings` holds one ranking per part, as a sequence of groups. Answers with equal scores are in one group (a tie). If the
    predictions define the order of equal scores, each answer is a group of its own. `names` holds the same answers grouped by
    the matched KB name; if it is empty, `rankings` is used instead. `scores` holds the score of each group, if known.
    `is_in_kb` is True if all gold ids are in the KB.

    >>> Case("1", frozenset({"a:1"}), (((frozenset({"a:1"}),),),)).is_composite
    False
    """

    document_id: str
    gold: Ids
    rankings: tuple[Ranking, ...]
    is_in_kb: bool = True
    names: tuple[Ranking, ...] = ()
    scores: tuple[tuple[float, ...], ...] = ()
    mentions: tuple[Mention, ...] = field(default=(), repr=False)
    document: Document | None = field(default=None, repr=False, compare=False)

    @property
    def tie_size(self) -> int:
        """The number of answers with the best score: 0 if there are no answers, 1 if the best answer is not tied."""
        return max(map(self._count_ties, range(len(self.rankings))), default=0)

    def _count_ties(self, part: int) -> int:
        ranking, scores = self.rankings[part], self.scores[part] if self.scores else ()
        if not scores:
            return len(ranking[0]) if ranking else 0
        return sum(len(group) for group, score in zip(ranking, scores, strict=True) if score == scores[0])

    def answer_ids(self, group: int = 0) -> tuple[str, ...]:
        """Return the answered ids of a tie group (0 has the best score), merged over all parts of the mention, sorted."""
        groups = (ranking[group] for ranking in self.rankings if len(ranking) > group)
        return tuple(sorted({concept_id for tied in groups for ids in tied for concept_id in ids}))

    @property
    def is_composite(self) -> bool:
        """Whether the mention has more than one gold concept."""
        return len(self.gold) > 1


def key_of(case: Case, names: DocumentNames) -> Key:
    """Return the key of a case's first mention: document name (from `names`), start and end."""
    document = names.of(case.document.key) if case.document else case.document_id
    return document, case.mentions[0].start, case.mentions[0].end


def ranking_of(answers: Iterable[tuple[Iterable[str], object]], canonical: CanonicalId = str) -> Ranking:
    """Group consecutive answers that share a score (or name), best first; repeated answers are dropped.

    >>> tie = [(["a:1"], 1.0), (["a:2"], 1.0), (["a:3"], 0.5)]
    >>> [[sorted(ids) for ids in group] for group in ranking_of(tie)]
    [[['a:1'], ['a:2']], [['a:3']]]
    """
    return tuple(group for group, _ in _tie_groups(answers, canonical))


def _tie_groups(answers: Iterable[tuple[Iterable[str], Mark]], canonical: CanonicalId) -> Iterator[tuple[TieGroup, Mark]]:
    """Yield each group of answers, together with the score or other key that the answers share."""
    seen: set[Ids] = set()
    for mark, group in groupby(answers, key=lambda answer: answer[1]):
        unique = dict.fromkeys(frozenset(map(canonical, ids)) for ids, _ in group)
        if fresh := tuple(ids for ids in unique if ids not in seen):
            yield fresh, mark
            seen.update(fresh)


class ConceptResolver:
    """Resolves ids to the concepts of a KB; `replaced` maps retired ids to new ids first. Without a KB, each id is a concept.

    >>> resolver = ConceptResolver(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> resolver.canonical("MESH:D009203"), resolver.canonical("mesh:D999999"), sorted(resolver.concepts_with_id("omim:608446"))
    ('mesh:D009203', 'mesh:D999999', ['mesh:D009203'])
    """

    def __init__(self, kb: KnowledgeBase | None = None, replaced: Mapping[str, str] = MappingProxyType({})) -> None:
        self._kb = kb
        self._replaced = replaced
        self._canonical: dict[str, str] = {}
        self._concepts_with_id: dict[str, Ids] = {}

    def canonical(self, concept_id: str) -> str:
        """Return the id of the concept that an id resolves to; an unknown or ambiguous id is returned as a CURIE."""
        if concept_id not in self._canonical:
            current = self._current(concept_id)
            rows = self._kb.resolve(current) if self._kb else ()
            self._canonical[concept_id] = self._kb.concept_ids[rows[0]] if self._kb and len(rows) == 1 else current
        return self._canonical[concept_id]

    def concepts_with_id(self, concept_id: str) -> Ids:
        """Return every concept that has this id as its primary or an alternative id."""
        if concept_id not in self._concepts_with_id:
            current = self._current(concept_id)
            rows = self._kb.concepts_with_id(current) if self._kb else ()
            concepts = frozenset(self._kb.concept_ids[row] for row in rows) if self._kb else frozenset({current})
            self._concepts_with_id[concept_id] = concepts
        return self._concepts_with_id[concept_id]

    def is_in_kb(self, mention: Mention) -> bool:
        """Return whether all gold ids of a mention are in the KB."""
        return all(map(self.concepts_with_id, mention.concept_ids))

    def _current(self, concept_id: str) -> str:
        curie = to_curie(concept_id)
        return self._replaced.get(curie, curie)


def gold_cases(
    documents: Iterable[Document],
    answers: Callable[[Key], Iterable[Answer]],
    resolver: ConceptResolver | None = None,
    *,
    is_decided: bool = False,
) -> list[Case]:
    """Return a case for every mention with a gold id; the parts of a composite mention form one case.

    With `is_decided`, answers with equal scores keep their given order; otherwise they are a tie.

    >>> doc = Document("1", "fever", (Mention(0, 5, "fever", ("mesh:D005334",)),))
    >>> [sorted(case.gold) for case in gold_cases([doc], lambda key: ())]
    [['mesh:D005334']]
    """
    resolver = resolver or ConceptResolver()
    documents = list(documents)
    names = DocumentNames.of_documents(documents)
    cases = []
    for doc in documents:
        for parts in _mentions_by_case(doc):
            part_answers = [answers((names.of(doc.key), part.start, part.end)) for part in parts]
            cases.append(_case(doc, parts, part_answers, resolver, is_decided=is_decided))
    return cases


def _case(
    doc: Document, parts: list[Mention], part_answers: list[Iterable[Answer]], resolver: ConceptResolver, *, is_decided: bool
) -> Case:
    gold_ids = list(dict.fromkeys(concept_id for mention in parts for concept_id in mention.concept_ids))
    gold = _gold_concepts(gold_ids, resolver)
    by_part = [sorted(each, key=lambda one: -one[1]) for each in part_answers]

    def canonical(concept_id: str) -> str:
        concept = resolver.canonical(concept_id)
        return gold.get(concept, concept)

    groups = [list(_tie_groups(_group_keys(each, is_decided=is_decided), canonical)) for each in by_part]
    by_name = [sorted(each, key=lambda one: (-one[1], one[2])) for each in by_part]
    return Case(
        document_id=doc.id,
        gold=frozenset(gold.values()),
        rankings=tuple(tuple(group for group, _ in each) for each in groups),
        is_in_kb=all(map(resolver.concepts_with_id, gold_ids)),
        names=tuple(ranking_of(((ids, (score, name)) for ids, score, name in each), canonical) for each in by_name),
        scores=tuple(tuple(score for _, (score, _) in each) for each in groups),
        mentions=tuple(parts),
        document=doc,
    )


def _group_keys(answers: list[Answer], *, is_decided: bool) -> Iterator[tuple[Iterable[str], tuple[float, int]]]:
    """Return the ids of each answer with its group key (score, rank). The rank is 0 if equal scores are a tie."""
    return ((ids, (score, rank if is_decided else 0)) for rank, (ids, score, _) in enumerate(answers))


def _gold_concepts(gold_ids: list[str], resolver: ConceptResolver) -> dict[str, str]:
    """Map each concept of the gold ids to one representative gold id.

    Gold ids that share a concept get the same representative, because in a dictionary one concept may have several ids, and
    several concepts may have the same id.
    """
    groups: list[set[str]] = []
    for concept_id in gold_ids:
        group = {resolver.canonical(concept_id), *resolver.concepts_with_id(concept_id)}
        for other in [each for each in groups if each & group]:
            groups.remove(other)
            group = other | group
        groups.append(group)
    names = set(map(resolver.canonical, gold_ids))
    return {concept: min(names & group) for group in groups for concept in group}


def _mentions_by_case(doc: Document) -> list[list[Mention]]:
    cases: dict[object, list[Mention]] = {}
    for number, mention in enumerate(doc.mentions):
        if mention.concept_ids:
            cases.setdefault(dict(mention.notes).get(PART_OF, number), []).append(mention)
    return list(cases.values())
