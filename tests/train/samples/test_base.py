"""Samples and pairs are values."""

from __future__ import annotations

import dataclasses

import pytest

from onym.train.samples.base import Pair, Positive, Sample


def test_they_are_equal_by_value_and_do_not_change() -> None:
    assert Sample([1], [2], [3]) == Sample([1], [2], [3]) != Sample([1], [2], [4])
    pair = Pair([1], [2], [3], [4])
    assert pair.reference == (0.0, 0.0)
    assert pair != dataclasses.replace(pair, reference=(-1.0, 0.0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        pair.preferred = [5]  # type: ignore[misc]
    positive = Positive("fever", "pyrexia", 7, (0, 1))
    assert positive.also == ()
    assert positive == Positive("fever", "pyrexia", 7, (0, 1)) != Positive("fever", "pyrexia", 8, (0, 1))
