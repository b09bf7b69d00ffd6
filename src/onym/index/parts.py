"""An index in parts, each of names that follow each other: parts are built side by side, each by one thread.

A graph that several threads build is another one each time. Several graphs, each built by a thread of its own, are the same
each time, and the number of them follows from the number of names alone, not from the machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onym.index.library import one_thread
from onym.types import Progress

FILE = "index.faiss"
Found = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


class Part(NamedTuple):
    """A part: where its names begin and end, and its index."""

    start: int
    end: int
    index: Any = None

    @property
    def names(self) -> int:
        """The number of its names."""
        return self.end - self.start


def parts_of(names: int, count: int) -> list[Part]:
    """Divide names into parts of about the same size.

    >>> [(part.start, part.end) for part in parts_of(10, 3)]
    [(0, 3), (3, 6), (6, 10)]
    """
    return [Part(names * number // count, names * (number + 1) // count) for number in range(count)]


def file_of(number: int) -> str:
    """Return the file of a part.

    >>> file_of(0), file_of(2)
    ('index.faiss', 'index-2.faiss')
    """
    return FILE if number == 0 else f"index-{number}.faiss"


def built_side_by_side(parts: Sequence[Part], build: Callable[[Part], Any], progress: Progress) -> list[Part]:
    """Build the indexes of all parts, as many at a time as there are cores."""

    def build_alone(part: Part) -> Part:
        with one_thread():
            return part._replace(index=build(part))

    done = 0
    built: list[Part] = []
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as pool:
        for part in pool.map(build_alone, parts):
            built.append(part)
            done += part.names
            progress("building the index", done)
    return built


def merged(found: Sequence[Found], k: int) -> Found:
    """Return the best of what was found in all parts. *Shape:* scores and ids of each part (n, k) -> (n, k)."""
    scores = np.concatenate([each for each, _ in found], axis=1)
    ids = np.concatenate([each for _, each in found], axis=1)
    scores[ids < 0] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1)
