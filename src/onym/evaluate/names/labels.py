"""Positions of labels: near what they name, inside the picture, over few points, and never over another label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onym.evaluate.names.nearness import Points

Size = tuple[float, float]
_GAP = 3.0  # between two labels
_NEAR = 9.0  # from what is named to the nearest position of its label
_ANGLES = np.linspace(0, 2 * np.pi, 24, endpoint=False)
_RINGS = 14
_SWEEPS = 3


@dataclass(frozen=True, slots=True)
class Box:
    """The box of a label: its lower left corner, its width and its height."""

    x: float
    y: float
    width: float
    height: float

    def meets(self, other: Box, gap: float = 0.0) -> bool:
        """Return whether two boxes are nearer to each other than `gap`.

        >>> Box(0, 0, 10, 10).meets(Box(9, 9, 5, 5)), Box(0, 0, 10, 10).meets(Box(10, 0, 5, 5))
        (True, False)
        """
        is_next = self.x + self.width + gap <= other.x or other.x + other.width + gap <= self.x
        is_above = self.y + self.height + gap <= other.y or other.y + other.height + gap <= self.y
        return not (is_next or is_above)


def arrange_labels(anchors: Points, sizes: Sequence[Size], points: Points, picture: Size) -> list[Box | None]:
    """Return a position for each label, or None where there is no room for it.

    `anchors` (labels, 2) is what they name, `points` (points, 2) what they should not cover. Labels are placed one after
    another, and then again, given the positions of the others.

    >>> boxes = arrange_labels(np.array([[50.0, 50.0], [50.0, 50.0]]), [(20, 10)] * 2, np.zeros((0, 2)), (100, 100))
    >>> boxes[0].meets(boxes[1])
    False
    """
    choices = [_choices(anchor, size, points, anchors, picture) for anchor, size in zip(anchors, sizes, strict=True)]
    found: list[Box | None] = [None] * len(sizes)
    for _ in range(_SWEEPS):
        for label, size in enumerate(sizes):
            found[label] = None
            others = [box for box in found if box]
            found[label] = _first_free(choices[label], size, others)
    return found


def _first_free(corners: Points, size: Size, others: Sequence[Box]) -> Box | None:
    """Return the best free position; `corners` (positions, 2) are ordered, best first."""
    width, height = size
    is_free = np.ones(len(corners), dtype=bool)
    for other in others:
        x, y = corners[:, 0], corners[:, 1]
        is_next = (x + width + _GAP <= other.x) | (other.x + other.width + _GAP <= x)
        is_free &= is_next | (y + height + _GAP <= other.y) | (other.y + other.height + _GAP <= y)
    if not is_free.any():
        return None
    x, y = corners[int(np.argmax(is_free))].tolist()
    return Box(x, y, width, height)


def _choices(anchor: npt.NDArray[np.float64], size: Size, points: Points, anchors: Points, picture: Size) -> Points:
    """Return the corners of positions inside the picture, best first: near the anchor, and covering few points."""
    width, height = size
    half = np.array([width / 2, height / 2])
    way = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)  # (angles, 2)
    # so far that the edge of the box, not its middle, keeps the distance
    radius = 1 / np.maximum(np.abs(way[:, 0]) / half[0], np.abs(way[:, 1]) / half[1])
    rings = _NEAR * 1.45 ** np.arange(_RINGS)
    around = (anchor + (radius + rings[:, None])[:, :, None] * way).reshape(-1, 2) - half
    lattice = np.stack(np.meshgrid(np.arange(0, picture[0], 16), np.arange(0, picture[1], 8)), axis=-1).reshape(-1, 2)
    corners = np.concatenate([around, lattice])
    corners = corners[((corners >= 0) & (corners + 2 * half <= np.array(picture))).all(1)]
    far = np.linalg.norm(np.maximum(np.abs(corners + half - anchor) - half, 0), axis=1)
    cost = far + 12 * _covered(corners, size, points) + 60 * _covered(corners, size, anchors)
    return np.asarray(corners[np.argsort(cost, kind="stable")])


def _covered(corners: Points, size: Size, points: Points) -> npt.NDArray[np.int64]:
    """Return how many points each box covers or touches."""
    if not len(points) or not len(corners):
        return np.zeros(len(corners), dtype=np.int64)
    after = points[None] >= corners[:, None] - _GAP
    before = points[None] <= corners[:, None] + np.array(size) + _GAP
    return np.asarray((after & before).all(2).sum(1), dtype=np.int64)
