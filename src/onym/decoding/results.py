"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Ranking = Literal["mean", "sum"]
"""How names are ranked: by the mean log-probability of their tokens and the end, as published, or by the sum."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A name that was written: its leaf in the trie, the log-probability of all its tokens, and their number with the end.

    >>> Hypothesis(7, -3.0, 2).score("mean"), Hypothesis(7, -3.0, 2).score("sum")
    (-1.5, -3.0)
    """

    leaf: int
    log_prob: float
    tokens: int

    def score(self, ranking: Ranking) -> float:
        """Return what it is ranked by."""
        return self.log_prob / self.tokens if ranking == "mean" else self.log_prob


@dataclass(frozen=True, slots=True)
class Decoded:
    """The best names of one mention, best first. `is_proved` says that no name of the trie would rank among them but these.

    `expansions` counts the nodes of the trie at which the model was asked.
    """

    hypotheses: tuple[Hypothesis, ...]
    is_proved: bool
    expansions: int


def best(hypotheses: list[Hypothesis], ranking: Ranking, count: int) -> tuple[Hypothesis, ...]:
    """Return the best hypotheses in order; equal ones in the order of the trie."""
    return tuple(sorted(hypotheses, key=lambda each: (-each.score(ranking), each.leaf))[:count])
