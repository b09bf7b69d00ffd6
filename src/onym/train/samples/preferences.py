"""Preference pairs of mentions: right names, and wrong ones that a model itself predicts or that look like the mention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from onym.kb import KnowledgeBase
from onym.linkers.generative import GenerativeLinker
from onym.train.samples.lookalikes import NONE, Lookalikes
from onym.train.samples.statements import Statements
from onym.train.samples.targets import DocMention, gold_concepts, is_name_of, targets_of

Rule = Literal["violating", "all"]
"""Pairs that the model ranks in the wrong order, or every pair: ANGEL's Table 2."""
_BATCH = 1024  # statements, of which the similar names are looked up together


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """A mention by its index, and the ids of two names: one of its concept, and one that is not."""

    mention: int
    right: int
    wrong: int


def predicted_preferences(
    linker: GenerativeLinker, mentions: Sequence[DocMention], *, top_k: int = 5, rule: Rule = "violating"
) -> list[PreferencePair]:
    """Return pairs of the `top_k` names that the linker predicts for each mention."""
    found = []
    for number, ((_, mention), answer) in enumerate(zip(mentions, linker.decode_mentions(mentions), strict=True)):
        gold = gold_concepts(mention, linker.kb)
        names = [linker.trie.names_at(each.leaf).tolist() for each in answer.hypotheses[:top_k]]
        is_right = [is_name_of(gold, equal, linker.kb) for equal in names]
        found += [PreferencePair(number, names[good][0], names[bad][0]) for good, bad in rank_preferences(is_right, rule=rule)]
    return found


def lookalike_preferences(
    mentions: Sequence[DocMention], kb: KnowledgeBase, *, top_k: int = 5, seed: int = 0
) -> list[PreferencePair]:
    """Return for each mention its most similar right name with a wrong one that looks like the mention."""
    right = targets_of(mentions, kb)
    wrong = Lookalikes(kb, count=top_k, seed=seed).names_for(
        [mention.surface for _, mention in mentions],
        [gold_concepts(mention, kb) for _, mention in mentions],
        range(len(mentions)),
    )
    pairs = enumerate(zip(right, wrong, strict=True))
    return [PreferencePair(number, names[0], bad) for number, (names, bad) in pairs if names and bad != NONE]


def iter_kb_preferences(statements: Statements, kb: KnowledgeBase, count: int, *, seed: int = 0) -> Iterator[PreferencePair]:
    """Yield for `count` statements of a knowledge base the target name with one that looks like its mention (ANGEL 3.2)."""
    lookalikes = Lookalikes(kb, seed=seed)
    for first in range(0, count, _BATCH):
        numbers = range(first, min(first + _BATCH, count))
        stated = statements.at(numbers)
        surfaces = [kb.names[statement.mention] for statement in stated]
        gold = [kb.name_concepts[statement.mention].tolist() for statement in stated]
        for number, statement, wrong in zip(numbers, stated, lookalikes.names_for(surfaces, gold, numbers), strict=True):
            if wrong != NONE:
                yield PreferencePair(number, statement.target, wrong)


def rank_preferences(is_right: Sequence[bool], *, rule: Rule = "violating") -> list[tuple[int, int]]:
    """Return the pairs (right, wrong) of ranks to learn from.

    ANGEL's rule (section 3.2): every right name is paired with each wrong one above it; a right name at rank 0 is paired with
    the first wrong one, to keep it there. Without a right name there is no pair.

    >>> rank_preferences([False, True, False])
    [(1, 0)]
    >>> rank_preferences([True, False, True])
    [(0, 1), (2, 1)]
    >>> rank_preferences([True, False, True], rule="all")
    [(0, 1), (2, 1)]
    """
    right = [rank for rank, flag in enumerate(is_right) if flag]
    wrong = [rank for rank, flag in enumerate(is_right) if not flag]
    if rule == "all":
        return [(good, bad) for good in right for bad in wrong]
    first = [(0, wrong[0])] if right and right[0] == 0 and wrong else []
    return first + [(good, bad) for good in right if good for bad in wrong if bad < good]
