"""What a model is trained on: a source, a prompt and a name, or two names of which it should prefer one, as tokens.

For encoders: two strings of one concept, as they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

T_co = TypeVar("T_co", bound="Sample | Pair | Positive", covariant=True)


@dataclass(frozen=True, slots=True)
class Sample:
    """A mention and the name to write for it, without the token that ends it."""

    source: list[int]
    prompt: list[int]
    name: list[int]


@dataclass(frozen=True, slots=True)
class Pair:
    """A mention, a right name and a wrong one; `reference` is what the model before said of both, log-probabilities."""

    source: list[int]
    prompt: list[int]
    chosen: list[int]
    rejected: list[int]
    reference: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Positive:
    """Two strings of one concept, which is given by its place; `names` are their ids, by which equal strings are known.

    A string that is no name of the knowledge base has an id beyond its names. `also` are other concepts that the first means.
    """

    first: str
    second: str
    concept: int
    names: tuple[int, int]
    also: tuple[int, ...] = ()


class Samples(Protocol[T_co]):
    """Samples by their place: the same place always gives the same sample, so a training can go on anywhere."""

    def __len__(self) -> int:
        """Return how many there are, all epochs together."""

    def __getitems__(self, places: Sequence[int]) -> Sequence[T_co]:
        """Return the samples at these places."""


class Repeated(Samples[T_co], Protocol[T_co]):
    """Samples that come again: `epoch` different ones, of which any number may be asked for."""

    @property
    def epoch(self) -> int:
        """How many there are before the first comes again."""

    def counted(self, count: int) -> Self:
        """Return the same samples, but so many in all."""
