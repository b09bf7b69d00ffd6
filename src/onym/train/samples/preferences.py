"""Preference pairs: a right name of a mention, and a wrong one that a model predicts or that looks like the mention.

Also the samples made of them with the scores of the reference model, and the file that keeps them during a run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.kb.search import open_similarity
from onym.linkers.generative import GenerativeLinker
from onym.models.template import Layout
from onym.store.arrays import Strings
from onym.store.output import whole_file
from onym.text.normal import normal_name
from onym.train.samples.base import Pair, Shuffled, draw
from onym.train.samples.mentions import DocMention, gold_concepts, is_name_of, targets_of
from onym.train.samples.statements import Statements

Rule = Literal["violating", "all"]
"""Pairs that the model ranks in the wrong order, or every pair: ANGEL's Table 2."""
_BATCH = 1024  # statements, of which the similar names are looked up together
NONE = -1
"""Where no name of another concept shares a 3-gram with the mention."""
_STREAM = 3
_MORE = 4  # times as many names are searched as are needed; and again, where too many are right
TextOf = Callable[[int], tuple[str, int, int]]
"""Returns the text of a mention by its index, and the offsets of the mention in it."""
Reference = tuple[float, float]


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


class Lookalikes:
    """For a mention a random one of the `count` most similar names that belong to none of its concepts.

    Make it once: it weighs the 3-grams of all names, and keeps them.

    >>> kb = KnowledgeBase.open(getfixture("tiny_kb"))
    >>> heart = kb.resolve("mesh:D009203")
    >>> found = Lookalikes(kb, count=1).names_for(["high heart attack"], [heart], [0])
    >>> [kb.names[name] for name in found]
    ['high blood pressure']
    """

    def __init__(self, kb: KnowledgeBase, *, count: int = 5, seed: int = 0) -> None:
        self._kb, self._count, self._seed = kb, count, seed
        self._similarity = open_similarity(kb)

    def names_for(self, surfaces: Sequence[str], gold: Sequence[Collection[int]], indices: Sequence[int]) -> list[int]:
        """Return the id of a wrong name for each mention, or NONE; the same index gives the same name."""
        found = self._wrong([normal_name(surface) for surface in surfaces], [frozenset(each) for each in gold])
        return [
            names[draw(self._seed, index, len(names), stream=_STREAM)] if names else NONE
            for names, index in zip(found, indices, strict=True)
        ]

    def _wrong(self, surfaces: Sequence[str], gold: Sequence[frozenset[int]]) -> list[list[int]]:
        """Return for each mention its `count` most similar wrong names, or as many as there are."""
        found: list[list[int]] = [[] for _ in surfaces]
        left, depth = list(range(len(surfaces))), self._count * _MORE
        while left:
            tops = self._similarity.top([surfaces[row] for row in left], depth)
            cut = []
            for row, (names, _) in zip(left, tops, strict=True):
                found[row] = [name for name in names.tolist() if self._is_wrong(name, gold[row])][: self._count]
                if len(found[row]) < self._count and len(names) == depth:
                    cut.append(row)
            left, depth = cut, depth * _MORE
        return found

    def _is_wrong(self, name: int, gold: frozenset[int]) -> bool:
        return gold.isdisjoint(self._kb.name_concepts[name].tolist())


@dataclass(frozen=True)
class PairSamples:
    """`count` pairs, in an order by `seed`, each seen once in an epoch."""

    pairs: Sequence[PreferencePair]
    text_of: TextOf
    names: Strings
    layout: Layout
    count: int
    seed: int = 0
    references: Sequence[Reference] = ()

    def __len__(self) -> int:
        return self.count

    def __getitems__(self, indices: Sequence[int]) -> list[Pair]:
        order = Shuffled(len(self.pairs), self.seed)
        return [self.at(row) for row in order.at(np.asarray(indices, dtype=np.int64)).tolist()]

    def at(self, row: int) -> Pair:
        """Return a pair by its row, in the order in which they were found."""
        each, layout = self.pairs[row], self.layout
        text, start, end = self.text_of(each.mention)
        return Pair(
            layout.source(text, start, end),
            layout.prompt(text[start:end]),
            layout.name(self.names[each.right]),
            layout.name(self.names[each.wrong]),
            self.references[row] if self.references else (0.0, 0.0),
        )


def write_pairs(pairs: Sequence[PreferencePair], references: Sequence[Reference], path: Path) -> None:
    """Keep pairs as JSON lines: numbers alone."""
    with whole_file(path, force=True) as file:
        for each, reference in zip(pairs, references, strict=True):
            file.write(json.dumps([each.mention, each.right, each.wrong, *reference]).encode() + b"\n")


def read_pairs(path: Path) -> tuple[list[PreferencePair], list[Reference]]:
    """Read what `write_pairs` wrote.

    >>> path = getfixture("tmp_path") / "pairs.jsonl"
    >>> write_pairs([PreferencePair(0, 3, 4)], [(-1.5, -2.0)], path)
    >>> read_pairs(path)
    ([PreferencePair(mention=0, right=3, wrong=4)], [(-1.5, -2.0)])
    """
    try:
        rows = [json.loads(line) for line in path.read_bytes().splitlines()]
        pairs = [
            (PreferencePair(int(mention), int(right), int(wrong)), (float(one), float(two)))
            for mention, right, wrong, one, two in rows
        ]
    except (OSError, ValueError, TypeError, IndexError) as e:
        raise IntegrityError("artefact-corrupt", "the pairs cannot be read", where=str(path), fix="remove the file") from e
    return [each for each, _ in pairs], [reference for _, reference in pairs]
