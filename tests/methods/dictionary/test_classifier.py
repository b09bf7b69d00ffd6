"""Tests of the mention classifier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.errors import ConfigError, IntegrityError
from onym.kb import KnowledgeBase
from onym.methods import detector_config, open_detector
from onym.methods.detector import Span
from onym.methods.dictionary.classifier import (
    SIZE,
    ClassifierSettings,
    MentionClassifier,
    context_features,
    open_classifier,
    row_of,
    surface_features,
    write_classifier,
)
from onym.methods.dictionary.detector import DictionaryDetector, DictionaryDetectorConfig
from onym.types import Document

TEXT = "Fever was seen; to fever is no word. A heart attack."


def weights(**by_feature: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    found = np.zeros(SIZE, dtype=np.float32)
    for feature, weight in by_feature.items():
        found[row_of(feature.replace("_", "="))] = weight
    return found


def make_classifier(*, hints: bool = False, **by_feature: float) -> MentionClassifier:
    settings = ClassifierSettings(threshold=0.5, conventions={"one": 0.01}, hints=hints)
    return MentionClassifier(weights(**by_feature), settings)


def find_with(kb: Path, classifier: MentionClassifier | None, **options: Any) -> list[str]:
    detector = DictionaryDetector(KnowledgeBase.open(kb), DictionaryDetectorConfig(**options), classifier=classifier)
    (found,) = detector.detect([Document("1", TEXT)])
    return [mention.surface for mention in found.document.mentions]


def test_drops_names_below_the_threshold(tiny_kb: Path) -> None:
    assert find_with(tiny_kb, None) == find_with(tiny_kb, make_classifier()) == ["Fever", "fever", "heart attack"]
    assert find_with(tiny_kb, make_classifier(before_to=-3)) == ["Fever", "heart attack"]
    assert find_with(tiny_kb, make_classifier(before_to=-3), threshold=0.01) == ["Fever", "fever", "heart attack"]
    assert find_with(tiny_kb, make_classifier(before_to=-3), convention="one") == ["Fever", "fever", "heart attack"]


def test_score_is_the_probability(tiny_kb: Path) -> None:
    detector = DictionaryDetector(KnowledgeBase.open(tiny_kb), classifier=make_classifier(before_to=-3, last_attack=2))
    (found,) = detector.detect([Document("1", TEXT)])
    assert [round(score, 3) for score in found.scores] == [0.5, 0.881]
    assert detector.config["threshold"] == 0.5


def test_hints_count_only_if_it_was_trained_with_them() -> None:
    for hints, expected in ((True, 0.881), (False, 0.5)):
        classifier = make_classifier(hints=hints, **{"name:kind_exact": 2})
        assert round(classifier.probability("fever", Span(0, 5), "", ("name:kind=exact",)), 3) == expected
    assert "hints" not in ClassifierSettings().model_dump()


def test_conventions_have_their_own_weights() -> None:
    own = MentionClassifier(weights(**{"|one": 2.0}), ClassifierSettings(conventions={"one": 0.5}))
    span = Span(0, 5)
    assert own.probability("fever", span) == 0.5
    assert own.probability("fever", span, "one") == pytest.approx(1 / (1 + np.exp(-2)))


def test_rejects_unknown_conventions(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="was not trained on 'two'"):
        find_with(tiny_kb, make_classifier(), convention="two")
    for options in ({"threshold": 0.3}, {"convention": "one"}):
        with pytest.raises(ConfigError, match="need a classifier"):
            find_with(tiny_kb, None, **options)


@given(st.text(max_size=60), st.data())
def test_any_text_has_a_probability(text: str, data: st.DataObject) -> None:
    if not text:
        return
    start = data.draw(st.integers(0, len(text) - 1))
    span = Span(start, data.draw(st.integers(start + 1, len(text))), type="Disease")
    random = np.random.default_rng(0).normal(0, 300, SIZE).astype(np.float32)
    classifier = MentionClassifier(random, ClassifierSettings())
    features = [*surface_features(text[span.start : span.end], span.type), *context_features(text, span)]
    chance = classifier.probability(text, span)
    total = sum(float(random[row_of(feature)]) for feature in features)
    assert chance == pytest.approx(1 / (1 + np.exp(-np.clip(total, -500, 500))), abs=1e-6)


def test_write_and_open_round_trip(tmp_path: Path, tiny_kb: Path) -> None:
    write_classifier(weights(before_to=-3), ClassifierSettings(threshold=0.4, conventions={"one": 0.2}), {}, tmp_path / "c")
    again = open_classifier(tmp_path / "c")
    assert (again.threshold(), again.threshold("one")) == (0.4, 0.2)
    detector = open_detector(detector_config("dictionary", classifier=str(tmp_path / "c")), KnowledgeBase.open(tiny_kb))
    (found,) = detector.detect([Document("1", TEXT)])
    assert [mention.surface for mention in found.document.mentions] == ["Fever", "heart attack"]
    assert detector.config["classifier"] == again.digest


def test_rejects_thresholds_that_are_no_probability(tmp_path: Path) -> None:
    settings = ClassifierSettings().model_copy(update={"conventions": {"one": 1.5}})
    write_classifier(weights(), settings, {}, tmp_path / "c")
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_classifier(tmp_path / "c")


@pytest.mark.parametrize("values", [np.zeros(3), np.full(SIZE, np.nan), np.full(SIZE, np.inf)])
def test_rejects_invalid_weights(tmp_path: Path, values: Any) -> None:
    write_classifier(values, ClassifierSettings(), {}, tmp_path / "c")
    with pytest.raises(IntegrityError, match="artefact-corrupt"):
        open_classifier(tmp_path / "c")


def test_rejects_invalid_settings(tmp_path: Path) -> None:
    class Odd(ClassifierSettings):
        def model_dump(self, **_: Any) -> dict[str, Any]:
            return json.loads('{"threshold": 7}')  # type: ignore[no-any-return]

    write_classifier(weights(), Odd(), {}, tmp_path / "c")
    with pytest.raises(IntegrityError, match="settings in the manifest are invalid"):
        open_classifier(tmp_path / "c")
