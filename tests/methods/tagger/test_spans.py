"""Tests of the span detector with a tiny model: spans above the threshold that do not overlap."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.methods.collective.model import Collective
from onym.methods.detector import resolve_overlaps
from onym.methods.tagger.spans import SpanDetector, score_spans, select_types
from onym.types import Document
from tests.support.models import save_collective

TEXT = "Fever, then a heart attack and hyper-\r\ntension; the MI came 🙂 late. " * 6


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Collective:
    return Collective.open(save_collective(tmp_path_factory.mktemp("spans") / "m"), "fp32")


def test_spans_above_the_threshold_that_do_not_overlap(model: Collective) -> None:
    (read,) = model.reader.read([Document("1", TEXT)])
    all_spans = score_spans(model, TEXT, read, select_types(model.settings, threshold=0.0))
    middle = sorted(span.score for span in all_spans)[len(all_spans) // 2]
    (found,) = SpanDetector(model, threshold=middle).detect([Document("1", TEXT)])
    wanted = resolve_overlaps(span for span in all_spans if span.score >= middle)
    mentions = found.document.mentions
    assert [(mention.start, mention.end) for mention in mentions] == [(span.start, span.end) for span in wanted]
    assert all(mention.surface == TEXT[mention.start : mention.end] == mention.surface.strip() for mention in mentions)
    assert found.scores == tuple(span.score for span in wanted)
    assert 0 < len(wanted) < len(all_spans)


def test_the_threshold_is_the_models_own(tmp_path: Path) -> None:
    strict = Collective.open(save_collective(tmp_path / "strict", threshold=1.0), "fp32")
    (none,) = SpanDetector(strict).detect([Document("1", TEXT)])
    assert none.document.mentions == ()
    assert SpanDetector(strict).config["threshold"] == 1.0
    (some,) = SpanDetector(strict, threshold=0.0).detect([Document("1", TEXT)])
    assert some.document.mentions


def test_nested_spans_on_request(model: Collective) -> None:
    (flat,) = SpanDetector(model, threshold=0.1).detect([Document("1", TEXT)])
    (deep,) = SpanDetector(model, threshold=0.1, nested=True).detect([Document("1", TEXT)])
    assert len(deep.document.mentions) > len(flat.document.mentions)


def test_empty_document(model: Collective) -> None:
    found = list(SpanDetector(model, threshold=0.0).detect([Document("1", ""), Document("2", " \n"), Document("3", "fever")]))
    assert [bool(each.document.mentions) for each in found] == [False, False, True]


def test_nan_scores_become_a_problem(tmp_path: Path) -> None:
    spoilt = Collective.open(save_collective(tmp_path / "m", detect="spans"), "fp32")
    for values in spoilt.heads.parameters():
        values.fill_(3e38)
    (found,) = SpanDetector(spoilt).detect([Document("1", "Fever, then a heart attack.")])
    assert [problem.code for problem in found.problems] == ["model-not-finite"]
