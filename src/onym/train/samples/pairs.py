"""Preference pairs as samples, with the scores of the reference model; and the file that keeps them during a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from onym.errors import IntegrityError
from onym.models.template import Layout
from onym.store.arrays import Strings
from onym.store.output import whole_file
from onym.train.samples.base import Pair
from onym.train.samples.order import Shuffled
from onym.train.samples.preferences import PreferencePair

TextOf = Callable[[int], tuple[str, int, int]]
"""Returns the text of a mention by its index, and the offsets of the mention in it."""
Reference = tuple[float, float]


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
