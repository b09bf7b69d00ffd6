"""Tests that the suite `pathological-text` distinguishes linear from quadratic time."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import cast

import pytest

from onym.pipeline.pipeline import Pipeline
from onym.types import Document
from tests.robustness.text.pathological_text import MAX_RATIO, ratio_of
from tests.robustness.text.shapes import SHAPES


class Slow:
    """A pipeline whose time grows with a power of the length."""

    def __init__(self, power: int) -> None:
        self._power = power

    def link(self, doc: Document) -> None:
        until = time.process_time() + 0.04 * (len(doc.text) / 10_000) ** self._power
        while time.process_time() < until:
            pass


@pytest.mark.slow
def test_distinguishes_quadratic_from_linear_time() -> None:
    ratios = [ratio_of(cast("Pipeline", Slow(power)), SHAPES["a letter"], 0.04, Namespace(quick=True)) for power in (1, 2)]
    assert ratios[0] < MAX_RATIO < ratios[1]


def test_has_many_texts_of_the_requested_length() -> None:
    assert len(SHAPES) >= 50
    assert {len(shape(1_000)) // 100 for shape in SHAPES.values()} <= {9, 10, 20}
