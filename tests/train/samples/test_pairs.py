"""Pairs of names as samples, and the file that keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import IntegrityError
from onym.kb import KnowledgeBase
from onym.train.samples.base import Pair
from onym.train.samples.pairs import PairSamples, read_pairs, write_pairs
from onym.train.samples.preferences import PreferencePair
from tests.train.tiny import layout

TEXTS = [("He had a Heart attack.", 9, 21), ("The fever rose.", 4, 9)]
PREFERRED = [PreferencePair(0, 1, 4), PreferencePair(1, 4, 0), PreferencePair(1, 5, 2)]
REFERENCES = [(-1.0, -2.0), (-0.1, -9.5), (-3.25, -0.5)]


@pytest.fixture
def pairs(tiny_kb: Path, model: Path) -> PairSamples:
    names = KnowledgeBase.open(tiny_kb).names
    return PairSamples(PREFERRED, TEXTS.__getitem__, names, layout(model), 9, seed=2, references=REFERENCES)


def test_a_pair_is_laid_out_as_for_linking(pairs: PairSamples, model: Path) -> None:
    how = layout(model)
    assert pairs.at(2) == Pair(
        how.source(*TEXTS[1]), how.prompt("fever"), how.name(pairs.names[5]), how.name(pairs.names[2]), REFERENCES[2]
    )


def test_each_pair_comes_once_in_an_epoch_with_its_own_reference(pairs: PairSamples) -> None:
    assert len(pairs) == 9
    expected = [pairs.at(row) for row in range(3)]
    found = [pairs.__getitems__(range(start, start + 3)) for start in (0, 3, 6)]
    for epoch in found:
        assert sorted(map(repr, epoch)) == sorted(map(repr, expected))
    assert not found[0] == found[1] == found[2]
    assert [pairs.__getitems__([index])[0] for index in range(9)] == [pair for epoch in found for pair in epoch]


def test_without_references(pairs: PairSamples) -> None:
    bare = PairSamples(PREFERRED, TEXTS.__getitem__, pairs.names, pairs.layout, 3)
    assert {pair.reference for pair in bare.__getitems__(range(3))} == {(0.0, 0.0)}


def test_the_file_keeps_each_digit(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    references = [(-1 / 3, -1e-17), (-0.1, -(2.0**-40)), (-3e30, 0.0)]
    write_pairs(PREFERRED, references, path)
    assert read_pairs(path) == (PREFERRED, references)
    assert not any(letter.isalpha() for letter in path.read_text().replace("e", ""))


@pytest.mark.parametrize("text", ["[0, 1, 2]\n", "[0, 1, 2, null, 1]\n", "[0, 1", "3\n", '{"a": 1}\n'])
def test_a_broken_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "pairs.jsonl").write_text(text)
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        read_pairs(tmp_path / "pairs.jsonl")
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        read_pairs(tmp_path / "none.jsonl")


def test_as_many_references_as_pairs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shorter"):
        write_pairs(PREFERRED, REFERENCES[:2], tmp_path / "pairs.jsonl")
    assert not (tmp_path / "pairs.jsonl").exists()
