"""Tests of the TF-IDF weights of character 3-grams, which agree with scikit-learn."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.text import similarity as trigrams
from onym.text.similarity import GramVocabulary

TEXTS = st.lists(st.text(max_size=14), min_size=1, max_size=10)


@given(TEXTS, TEXTS)
def test_the_weights_are_those_of_scikit_learn(names: list[str], others: list[str]) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vocabulary, counts = GramVocabulary.of(names)
    theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), dtype=np.float32)
    if not len(vocabulary):
        with pytest.raises(ValueError, match="empty vocabulary"):
            theirs.fit([name for name in names if name])
        return
    expected = theirs.fit([name for name in names if name]).transform(names)  # empty names do not count
    for vectors, matrix in ((vocabulary.weigh(counts), expected), (vocabulary.vectors(others), theirs.transform(others))):
        matrix.sort_indices()
        assert vectors.offsets.tolist() == matrix.indptr.tolist()
        assert vectors.columns.tolist() == matrix.indices.tolist()
        assert vectors.weights.tolist() == matrix.data.tolist()


def test_many_texts_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["heart attack", "", "fever", "aaaaa", "yellow fever"]
    whole, counts = GramVocabulary.of(names)
    monkeypatch.setattr(trigrams, "_BATCH", 2)
    parts, own = GramVocabulary.of(names)
    assert parts.grams.tolist() == whole.grams.tolist()
    assert [each.tolist() for each in own] == [each.tolist() for each in counts]
    assert counts.times.max() == 3


@pytest.mark.parametrize("has_scipy", [True, False])
def test_transpose(has_scipy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_scipy:
        monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    vocabulary, counts = GramVocabulary.of(["fever", "fevers"])
    rows = vocabulary.weigh(counts)
    columns = rows.transpose(len(vocabulary))
    dense = np.zeros((2, len(vocabulary)))
    for row in range(2):
        for at in range(rows.offsets[row], rows.offsets[row + 1]):
            dense[row, rows.columns[at]] = rows.weights[at]
    for column in range(len(vocabulary)):
        part = slice(columns.offsets[column], columns.offsets[column + 1])
        assert dense[columns.columns[part], column].tolist() == columns.weights[part].tolist()
        assert np.count_nonzero(dense[:, column]) == len(columns.weights[part])


def test_norms_are_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["heart attack", "", "fever", "yellow fever", "a"]
    vocabulary, counts = GramVocabulary.of(texts)
    whole = vocabulary.norms(counts)
    monkeypatch.setattr("onym.text.similarity._BATCH", 2)
    assert vocabulary.norms(counts).tobytes() == whole.tobytes()
    rows = np.repeat(np.arange(len(texts)), np.diff(counts.offsets))
    some = vocabulary.some_weights(counts, whole, np.arange(len(rows)), rows)
    assert some.tobytes() == vocabulary.weigh(counts).weights.tobytes()
