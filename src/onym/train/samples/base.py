"""The samples that models are trained on, and the protocol of a dataset of them.

Generative models: a source, a prompt and a name, or two names of which one is preferred, as tokens. Encoders: two strings of
one concept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, TypeVar

if TYPE_CHECKING:
    from torch import Tensor

Batch: TypeAlias = "dict[str, Tensor]"
"""Samples as tensors, as a collate function makes them and a trainer takes them."""
T_co = TypeVar("T_co", bound="Sample | Pair | Positive", covariant=True)


@dataclass(frozen=True, slots=True)
class Sample:
    """A mention and the name to generate for it, without the token that ends it."""

    source: list[int]
    prompt: list[int]
    name: list[int]


@dataclass(frozen=True, slots=True)
class Pair:
    """A mention, a right name and a wrong one; `reference` has the log-probabilities of both by the reference model."""

    source: list[int]
    prompt: list[int]
    preferred: list[int]
    rejected: list[int]
    reference: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Positive:
    """Two strings of one concept, which is a row of the knowledge base; `names` are their ids, equal for equal strings.

    A string that is no name of the knowledge base has an id beyond its names. `also` are other concepts of the first string.
    """

    first: str
    second: str
    concept: int
    names: tuple[int, int]
    also: tuple[int, ...] = ()


class Samples(Protocol[T_co]):
    """Samples by index: the same index always gives the same sample, so that training can resume anywhere."""

    def __len__(self) -> int:
        """Return how many there are, all epochs together."""

    def __getitems__(self, indices: Sequence[int]) -> Sequence[T_co]:
        """Return the samples at these indices."""


class RepeatedSamples(Samples[T_co], Protocol[T_co]):
    """Samples over any number of epochs."""

    @property
    def epoch(self) -> int:
        """The number of samples in an epoch."""

    def with_count(self, count: int) -> Self:
        """Return the same samples, but so many in all."""
