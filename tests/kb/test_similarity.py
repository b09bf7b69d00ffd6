"""Tests of the TF-IDF similarity stored with a knowledge base."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.kb import search as similarity
from onym.kb.search import FOLDER, _require_sound, open_similarity
from onym.store.arrays import Ragged
from onym.text.similarity import GramVocabulary, NameSimilarity


@pytest.fixture
def kb(tmp_path: Path, tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    monkeypatch.setattr(similarity, "_FEW", 0)
    shutil.copytree(tiny_kb, tmp_path / "kb")
    return KnowledgeBase.open(tmp_path / "kb")


def test_the_similarity_is_computed_once_and_reopened(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    first = open_similarity(kb, progress=lambda what, _: steps.append(what))
    monkeypatch.setattr(similarity, "write_similarity", None)
    second = open_similarity(kb)
    assert steps == ["counting 3-grams of names"]
    fresh = NameSimilarity.of(kb.names)
    for query in ("fevr", "hart attack", "zzz"):
        expected = [each.tolist() for each in fresh.top([query], 3)[0]]
        assert [each.tolist() for each in first.top([query], 3)[0]] == expected
        assert [each.tolist() for each in second.top([query], 3)[0]] == expected


def test_a_small_similarity_is_not_stored(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_FEW", 1_000)
    open_similarity(kb)
    assert not (kb.folder.parent / FOLDER).exists()


@pytest.mark.parametrize("column", ["grams", "names.values", "times"])
def test_a_corrupt_similarity_is_rebuilt(kb: KnowledgeBase, column: str) -> None:
    open_similarity(kb)
    (file,) = (kb.folder.parent / FOLDER).glob(f"*/*/{column}.npy")
    data = bytearray(file.read_bytes())
    data[-1] ^= 255
    file.chmod(0o644)
    file.write_bytes(bytes(data))
    rows, scores = open_similarity(kb).top(["fever"], 1)[0]
    assert (kb.names[int(rows[0])], scores.tolist()) == ("fever", [1.0])


def test_rejects_inconsistent_columns() -> None:
    vocabulary, counts = GramVocabulary.of(["fever", "cough"])
    names = Ragged(counts.offsets, counts.grams)
    _require_sound(vocabulary, names, counts.times, 2, "kb")
    not_finite = GramVocabulary(vocabulary.grams, vocabulary.idf * np.float32("nan"))
    for other, times, count in (
        (not_finite, counts.times, 2),
        (vocabulary, counts.times[1:], 2),
        (vocabulary, counts.times, 3),
        (GramVocabulary(vocabulary.grams[::-1], vocabulary.idf), counts.times, 2),
        (GramVocabulary(vocabulary.grams[:3], vocabulary.idf[:3]), counts.times, 2),
    ):
        with pytest.raises(IntegrityError, match="artefact-corrupt"):
            _require_sound(other, names, times, count, "kb")
