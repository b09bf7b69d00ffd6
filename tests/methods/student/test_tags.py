"""Tests of the tag detector with fixed scores: runs of words, and where a new mention begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from onym.methods.collective.model import Collective
from onym.methods.tagger.spans import TagDetector, tag_spans
from onym.types import Document
from tests.support.models import save_collective

TEXT = "no fever heart attacks today"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Collective:
    return Collective.open(save_collective(tmp_path_factory.mktemp("tags") / "m", detect="tags", links=False), "fp32")


def find_with(model: Collective, monkeypatch: pytest.MonkeyPatch, chances: list[list[float]], threshold: float) -> list[Any]:
    monkeypatch.setattr(model.heads, "tag_scores", lambda _: torch.tensor(chances).log())
    (read,) = model.reader.read([Document("1", TEXT)])
    return [(TEXT[span.start : span.end], round(span.score, 2)) for span in tag_spans(model, TEXT, read, threshold)]


def test_runs_of_words(model: Collective, monkeypatch: pytest.MonkeyPatch) -> None:
    # for each word: the probabilities of the tags O, B and I
    chances = [[0.9, 0.05, 0.05], [0.2, 0.7, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6], [0.8, 0.1, 0.1]]
    assert find_with(model, monkeypatch, chances, 0.5) == [("fever", 0.8), ("heart attacks", 0.8)]
    assert find_with(model, monkeypatch, chances, 0.75) == [("fever", 0.8), ("heart", 0.9)]
    assert find_with(model, monkeypatch, chances, 0.95) == []


def test_a_mention_may_begin_with_an_inside_and_end_the_text(model: Collective, monkeypatch: pytest.MonkeyPatch) -> None:
    chances = [[0.1, 0.1, 0.8], [0.1, 0.1, 0.8], [0.9, 0.05, 0.05], [0.2, 0.1, 0.7], [0.1, 0.2, 0.7]]
    assert find_with(model, monkeypatch, chances, 0.5) == [("no fever", 0.9), ("attacks today", 0.85)]


def test_detector(model: Collective) -> None:
    detector = TagDetector(model, threshold=0.0)
    found = list(detector.detect([Document("1", TEXT), Document("2", "")]))
    assert found[0].document.mentions
    assert all(mention.surface == TEXT[mention.start : mention.end] for mention in found[0].document.mentions)
    assert found[1].document.mentions == ()
    assert detector.config["detector"] == "tags"
    assert TagDetector(model).config["threshold"] == 0.5


def test_nan_scores_become_a_problem(tmp_path: Path) -> None:
    spoilt = Collective.open(save_collective(tmp_path / "m", detect="tags"), "fp32")
    for values in spoilt.heads.parameters():
        values.fill_(3e38)
    (found,) = TagDetector(spoilt).detect([Document("1", "Fever, then a heart attack.")])
    assert [problem.code for problem in found.problems] == ["model-not-finite"]
