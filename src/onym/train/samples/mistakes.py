"""Right and wrong names for mentions: those that a model itself wrote, or wrong ones that look like the mention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onym.kb import KnowledgeBase
from onym.linkers.generative import GenerativeLinker
from onym.train.samples.lookalikes import NONE, Lookalikes
from onym.train.samples.pair_rule import Rule, preferences
from onym.train.samples.statements import Statements
from onym.train.samples.targets import Place, concepts_of, targets_of
from onym.types import Mention

_BATCH = 1024  # statements, of which the like names are looked up together


@dataclass(frozen=True, slots=True)
class Preferred:
    """A mention by its place among those asked about, and two names by their ids: one of its concept, and one that is not."""

    place: int
    right: int
    wrong: int


def own_mistakes(
    linker: GenerativeLinker, places: Sequence[Place], *, top: int = 5, rule: Rule = "violating"
) -> list[Preferred]:
    """Return pairs of the `top` names that the linker writes for each mention."""
    found = []
    for number, ((_, mention), answer) in enumerate(zip(places, linker.decode_mentions(places), strict=True)):
        gold = gold_of(mention, linker.kb)
        names = [linker.trie.names_at(each.leaf).tolist() for each in answer.hypotheses[:top]]
        is_right = [is_name_of(gold, alike, linker.kb) for alike in names]
        found += [Preferred(number, names[good][0], names[bad][0]) for good, bad in preferences(is_right, rule=rule)]
    return found


def lookalike_mistakes(places: Sequence[Place], kb: KnowledgeBase, *, top: int = 5, seed: int = 0) -> list[Preferred]:
    """Return for each mention its most similar right name with a wrong one that looks like the mention."""
    right = targets_of(places, kb)
    wrong = Lookalikes(kb, count=top, seed=seed).names_for(
        [mention.surface for _, mention in places], [gold_of(mention, kb) for _, mention in places], range(len(places))
    )
    pairs = enumerate(zip(right, wrong, strict=True))
    return [Preferred(number, names[0], bad) for number, (names, bad) in pairs if names and bad != NONE]


def iter_knowledge_mistakes(statements: Statements, kb: KnowledgeBase, count: int, *, seed: int = 0) -> Iterator[Preferred]:
    """Yield for `count` statements of a knowledge base the name to write with one that looks like its mention (ANGEL 3.2)."""
    lookalikes = Lookalikes(kb, seed=seed)
    for first in range(0, count, _BATCH):
        numbers = range(first, min(first + _BATCH, count))
        stated = statements.at(numbers)
        surfaces = [kb.names[statement.mention] for statement in stated]
        gold = [kb.name_concepts[statement.mention].tolist() for statement in stated]
        for number, statement, wrong in zip(numbers, stated, lookalikes.names_for(surfaces, gold, numbers), strict=True):
            if wrong != NONE:
                yield Preferred(number, statement.target, wrong)


def gold_of(mention: Mention, kb: KnowledgeBase) -> frozenset[int]:
    """Return the concepts that a mention means, by their places in the knowledge base."""
    return frozenset(concepts_of(mention, kb))


def is_name_of(gold: frozenset[int], names: Sequence[int], kb: KnowledgeBase) -> bool:
    """Return whether one of the names, all written alike, is of one of these concepts."""
    return any(not gold.isdisjoint(kb.name_concepts[name].tolist()) for name in names)
