"""A dataset as the catalogue lists it: the files it needs, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onym.datasets.drops import DropCounts
from onym.datasets.inputs import Inputs, RequiredFile
from onym.kb.recipe import Recipe
from onym.store.files.source import Source
from onym.types import Document

SPLITS = ("train", "dev", "test")
"""The splits in reading order: train comes first, so that the others can be compared with it."""

Reader = Callable[[Inputs, DropCounts], Iterator[tuple[str, Document]]]
"""Yields each document with its split, one split after the other, and counts what it leaves out."""
Dictionary = Callable[[Inputs], tuple[Recipe, dict[str, Source]]]
"""Returns how a dataset's own dictionary becomes a knowledge base: a recipe, and the sources that it names."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """One preparation of one corpus. `kb`, `protocol`, `dropped` and `licence` are descriptions for readers."""

    name: str
    title: str
    files: tuple[RequiredFile, ...]
    read: Reader
    kb: str
    protocol: str
    dropped: str
    licence: str
    splits: tuple[str, ...] = SPLITS
    dictionary: Dictionary | None = None
    restricts_types: bool = False
