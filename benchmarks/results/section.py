"""A section of the results page: the rows of one kind of linker, how they are predicted, compared and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.results.store import FOLDER, Curve, Row, Store
from onym.kb import KnowledgeBase
from onym.linkers.base import Linker

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "results.md"

PageWith = Callable[[Sequence[Row], Mapping[str, Curve], str], str]
"""Returns a page with the tables of rows and curves in it."""


@dataclass(frozen=True)
class Section:
    """One kind of linker.

    `keys` are the benchmarks it is judged on; `stages` its stages of training, each with the one it is compared with; `chosen`
    tells which rows are chosen on dev. `open` opens a model for a search and a ranking, `open_as_said` one with the settings
    that predictions were made with; `answers` is how many concepts are kept of each mention.
    """

    name: str
    keys: tuple[str, ...]
    stages: Mapping[str, str]
    searches: tuple[str, ...]
    rankings: tuple[str, ...]
    open: Callable[[Path, KnowledgeBase, str, str], Linker]
    open_as_said: Callable[[Path, KnowledgeBase, dict[str, Any]], Linker]
    answers: Callable[[KnowledgeBase], int]
    page_with: PageWith
    best_figures: Callable[[Sequence[Row]], Mapping[str, object]]
    figures: tuple[str, ...]
    usual_start: str

    @property
    def store(self) -> Store:
        """Where its rows are."""
        return Store(FOLDER / self.name)
