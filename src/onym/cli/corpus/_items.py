"""What the commands share: items that a progress bar counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

    from onym.corpora.base import Item

FAILED = 5
"""The exit status of a run that finished, but left something out."""
_STEP = 100


def counted(items: Iterable[Item], bar: Progress) -> Iterator[Item]:
    """Yield items, moving the bar on."""
    for number, item in enumerate(items):
        if number % _STEP == 0:
            bar.update(bar.task_ids[0], completed=number)
        yield item
