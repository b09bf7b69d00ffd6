"""Tests of label placement: no overlaps, inside the plot, near the points."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onym.evaluate.names_plot import Box, arrange_labels

PICTURE = (300.0, 300.0)
POINTS = st.tuples(st.floats(0, 300), st.floats(0, 300))


@settings(max_examples=40)
@given(st.lists(st.tuples(POINTS, st.floats(10, 120)), min_size=1, max_size=14), st.lists(POINTS, max_size=60))
def test_labels_do_not_overlap_and_stay_inside(
    labels: list[tuple[tuple[float, float], float]], dots: list[tuple[float, float]]
) -> None:
    anchors = np.array([anchor for anchor, _ in labels])
    found = arrange_labels(anchors, [(width, 12.0) for _, width in labels], np.array(dots).reshape(-1, 2), PICTURE)
    boxes = [box for box in found if box]
    assert len(boxes) == len(labels), "there is room for all"
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))
    for box in boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= 300
        assert box.y + box.height <= 300


def test_single_label_is_next_to_its_point() -> None:
    anchor = np.array([[150.0, 150.0]])
    [box] = arrange_labels(anchor, [(60.0, 12.0)], anchor, PICTURE)
    assert box
    distance = max(box.x - 150, 150 - box.x - box.width, box.y - 150, 150 - box.y - box.height)
    assert 0 < distance < 20


def test_labels_avoid_points() -> None:
    dots = np.array([[150.0 + x, 150.0 + y] for x in range(0, 90, 6) for y in range(-40, 41, 6)])
    [box] = arrange_labels(np.array([[150.0, 150.0]]), [(60.0, 12.0)], dots, PICTURE)
    assert box
    assert box.x + box.width < 150


def test_labels_without_space_are_left_out() -> None:
    anchors = np.full((3, 2), 20.0)
    found = arrange_labels(anchors, [(38.0, 18.0)] * 3, anchors, (40.0, 40.0))
    assert sum(box is not None for box in found) < 3
    assert arrange_labels(anchors[:1], [(50.0, 10.0)], anchors, (40.0, 40.0)) == [None]


@pytest.mark.parametrize(("gap", "meets"), [(0.0, False), (4.0, False), (6.0, True)])
def test_boxes_with_gap(gap: float, meets: bool) -> None:
    assert Box(0, 0, 10, 10).meets(Box(15, 3, 10, 10), gap) is meets
