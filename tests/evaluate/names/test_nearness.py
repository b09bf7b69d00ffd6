"""Tests of the share of names whose nearest name has the same concept, and of t-SNE points."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError
from onym.evaluate.names import Vectors, perplexity, points_of, share_together, unit_vectors

OWNERS = np.repeat(np.arange(4), 6)


def clusters(spread: float) -> Vectors:
    """Return four clusters of six vectors with the given standard deviation."""
    random = np.random.default_rng(0)
    return (np.eye(4, 8, dtype=np.float32)[OWNERS] + spread * random.normal(size=(24, 8))).astype(np.float32)


def test_share_together_of_tight_and_wide_clusters() -> None:
    assert share_together(clusters(0.01), OWNERS) == 1.0
    assert 0 < share_together(clusters(1.0), OWNERS) < 0.9


def test_share_together_matches_plain_loop() -> None:
    vectors = clusters(0.6)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    right = 0
    for row in range(24):
        similarity = {other: float(unit[row] @ unit[other]) for other in range(24) if other != row}
        right += OWNERS[max(similarity, key=lambda other: similarity[other])] == OWNERS[row]
    assert share_together(vectors, OWNERS) == right / 24


@given(st.floats(0.01, 100))
def test_vector_length_does_not_matter(scale: float) -> None:
    vectors = clusters(0.6)
    longer = vectors * np.where(np.arange(24) % 2, scale, 1)[:, None]
    assert share_together(longer.astype(np.float32), OWNERS) == share_together(vectors, OWNERS)


def test_tie_with_other_concept_is_a_miss() -> None:
    same = np.ones((4, 3), dtype=np.float32)
    assert share_together(same, np.array([0, 0, 1, 1])) == 0.0


def test_single_names_are_ignored() -> None:
    vectors = np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32)
    assert share_together(vectors, np.array([0, 0, 1])) == 1.0
    assert share_together(vectors, np.array([0, 1, 2])) == 0.0


def test_points_are_deterministic() -> None:
    vectors = clusters(0.3)
    points = points_of(vectors)
    assert points.shape == (24, 2)
    assert np.isfinite(points).all()
    assert (points == points_of(vectors)).all()


def test_tsne_preserves_neighbours() -> None:
    points = points_of(clusters(0.02), seed=3)
    far = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(far, np.inf)
    assert (OWNERS[far.argmin(1)] == OWNERS).all()


def test_few_or_equal_names() -> None:
    assert np.isfinite(points_of(clusters(0.3)[::5])).all()
    assert (points_of(np.ones((6, 4), dtype=np.float32)) == 0).all()
    assert [perplexity(names) for names in (4, 91, 1000)] == [1.0, 30.0, 30.0]


def test_zero_vector_is_unchanged() -> None:
    found = unit_vectors(np.array([[0, 0], [3, 4]], dtype=np.float32))
    assert np.allclose(found, np.array([[0, 0], [0.6, 0.8]]))


def test_missing_scikit_learn_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(ConfigError) as caught:
        points_of(clusters(0.3))
    assert caught.value.code == "extra-missing"
    assert "onym[train]" in caught.value.fix
