"""What a benchmark says of itself, and what its preparation works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onym.datasets.inputs import Inputs, Need
from onym.datasets.tally import Tally
from onym.kb.recipe import Recipe
from onym.store.files.source import Source
from onym.types import Document

SPLITS = ("train", "dev", "test")
"""The splits in the order in which they are read: what train holds is known before dev and test are."""

Reader = Callable[[Inputs, Tally], Iterator[tuple[str, Document]]]
"""Yields each document with its split, the splits one after the other, and tells what it leaves out."""
Names = Callable[[Inputs], tuple[Recipe, dict[str, Source]]]
"""Returns how a benchmark's own dictionary becomes a knowledge base: a recipe, and the sources that it names."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One preparation of one corpus. `kb`, `protocol`, `dropped` and `licence` are words for people."""

    name: str
    title: str
    needs: tuple[Need, ...]
    read: Reader
    kb: str
    protocol: str
    dropped: str
    licence: str
    splits: tuple[str, ...] = SPLITS
    names: Names | None = None
    restricts_types: bool = False
