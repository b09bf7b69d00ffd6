"""Tests of the confidence intervals of end-to-end scores."""

from __future__ import annotations

import numpy as np
import pytest

from onym.evaluate import significance
from onym.evaluate.end_to_end import END_TO_END, bootstrap_intervals, score_all, score_with_intervals
from onym.types import Document, Mention


def document(name: str, *spans: tuple[int, int], of: str = "") -> Document:
    notes = (("document", of),) if of else ()
    return Document(name, "x" * 20, tuple(Mention(a, b, "x" * (b - a), ("a:1",)) for a, b in spans), notes=notes)


def test_scores_match_manual_computation() -> None:
    gold = [document("1", (0, 5), (10, 15)), document("2", (0, 5))]
    predicted = [document("1", (0, 5), (10, 14)), document("2")]
    found = score_all(gold, predicted)
    assert list(found) == list(END_TO_END)
    strict = found["bhowmik-strict"]
    assert (strict.scores.precision, strict.scores.recall) == (0.5, 1 / 3)
    assert strict.recall == (0.0, 0.5)  # the extremes: the bootstrap draws only the second document, or only the first
    assert strict.f1[0] <= strict.scores.f1 <= strict.f1[1]
    assert found["bhowmik-partial"].scores.recall == pytest.approx(2 / 3)
    assert strict.as_dict()["f1_interval"] == list(strict.f1)


def test_strict_f1_interval_matches_counts() -> None:
    counts = np.array([[1, 2, 1, 3], [0, 1, 0, 1], [2, 2, 2, 4], [3, 3, 3, 3]], dtype=float)
    rows = np.random.default_rng(0).integers(0, 4, (2_000, 4))
    right, predicted, _, gold = counts[rows].sum(1).T
    expected = np.percentile(2 * right / np.maximum(predicted + gold, 1), [2.5, 97.5])
    assert bootstrap_intervals(counts)[2] == pytest.approx(tuple(expected))


def test_block_size_does_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(1).integers(0, 5, (30, 4)).astype(float)
    whole = bootstrap_intervals(counts)
    monkeypatch.setattr(significance, "_BLOCK", 100)
    assert bootstrap_intervals(counts) == whole


def test_documents_of_one_abstract_are_resampled_together() -> None:
    gold = [document("1.1", (0, 5), of="1"), document("1.2", (0, 5), of="1")]
    result = score_with_intervals(gold, [gold[0], document("1.2")], "bhowmik-strict")
    assert result.recall == (0.5, 0.5)


def test_interval_without_documents() -> None:
    assert bootstrap_intervals(np.zeros((0, 4))) == ((0.0, 1.0), (0.0, 1.0), (0.0, 1.0))
