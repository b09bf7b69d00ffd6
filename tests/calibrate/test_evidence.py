"""Tests of the features of answers that a calibration uses, such as score and margin."""

from __future__ import annotations

import numpy as np
import pytest

from onym.calibrate.calibration import AnswerFeatures, Answers, ScoredAnswer
from onym.errors import InputError
from onym.types import Candidate, Link, Mention


def test_answer_from_link() -> None:
    both = (Candidate("a:1", "fever", 0.9), Candidate("a:2", "fever", 0.9))
    assert ScoredAnswer.of_link(Link(Mention(0, 5, "fever"), both)) == ScoredAnswer(0.9, 0.9, 2, 1, 5)
    assert ScoredAnswer.of_link(Link(Mention(0, 5, "fever"), both[:1])) == ScoredAnswer(0.9, 0.9, 1, 0, 5)


def test_non_finite_scores_are_clipped() -> None:
    answers = Answers.of([ScoredAnswer(float("nan"), float("-inf"), 2, 0, 5)])
    assert np.isfinite(answers.columns).all()
    assert np.isfinite(AnswerFeatures((), ()).of(answers)).all()


def test_equal_scores_have_no_knots() -> None:
    answers = Answers.of([ScoredAnswer(1.0, 1.0, 1, 0, 5)] * 10)
    fitted = AnswerFeatures.fit(answers)
    assert (fitted.scores, fitted.margins) == ((), ())
    assert fitted.of(answers).shape == (10, 6)


def test_detection_score_is_a_feature_if_it_varies() -> None:
    link = Link(Mention(0, 5, "fever"), (Candidate("a:1", "fever", 0.9),), detection_score=0.25)
    assert ScoredAnswer.of_link(link).detection == 0.25
    same, differing = ([ScoredAnswer(0.9, 0.4, 2, 0, 5, score) for score in scores] for scores in ((1.0, 1.0), (0.2, 0.0)))
    assert AnswerFeatures.fit(Answers.of(same)).detections is None
    fitted, answers = AnswerFeatures.fit(Answers.of(differing)), Answers.of(differing)
    assert fitted.detections is not None
    assert np.isfinite(fitted.of(answers)).all()
    assert fitted.of(answers).shape[1] == AnswerFeatures.fit(Answers.of(same)).of(answers).shape[1] + 1 + len(fitted.detections)


def test_stored_knots_are_validated() -> None:
    with pytest.raises(InputError, match="calibration-invalid"):
        AnswerFeatures(tuple(map(float, range(11))), ())


def test_name_is_a_feature_of_annotated_mentions_only() -> None:
    def fit(*detections: float) -> AnswerFeatures:
        pairs = zip((False, True), detections, strict=True)
        return AnswerFeatures.fit(Answers.of(ScoredAnswer(0.9, 0.4, 2, 0, 5, score, named) for named, score in pairs))

    assert (fit(1.0, 1.0).uses_names, fit(0.2, 0.9).uses_names) == (True, False)
    named, other = (Answers.of([ScoredAnswer(0.9, 0.4, 2, 0, 5, is_named=value)]) for value in (True, False))
    assert fit(1.0, 1.0).of(named)[0, -1] - fit(1.0, 1.0).of(other)[0, -1] == 1
    assert (fit(0.2, 0.9).of(named) == fit(0.2, 0.9).of(other)).all()
