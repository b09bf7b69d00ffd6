"""Detectors by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from onym.detect.named import DETECTORS, detector_named, detector_of

from onym.detect.dictionary import DictionaryConfig
from onym.errors import ConfigError
from onym.kb import KnowledgeBase


def test_the_detector_says_its_own_name(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    assert detector_named("none", kb) is None
    detector = detector_named("dictionary", kb, DictionaryConfig(nested=True))
    assert detector is not None
    assert detector.config | {"detector": "dictionary", "nested": True} == detector.config
    with pytest.raises(ConfigError, match="model-missing"):
        detector_named("model", kb)
    assert DETECTORS == ("dictionary", "model", "none")


@pytest.mark.parametrize("detect", ["spans", "tags"])
def test_a_model_is_the_detector_that_it_was_trained_to_be(tmp_path: Path, detect: str) -> None:
    pytest.importorskip("torch")
    from onym.encoders.collective import Collective
    from tests.encoders.tiny_collective import save_collective

    detector = detector_of(Collective.open(save_collective(tmp_path / "m", detect=detect)), threshold=0.3)
    assert (detector.config["detector"], detector.config["threshold"]) == (detect, 0.3)
    with pytest.raises(ConfigError, match="finds none"):
        detector_of(Collective.open(save_collective(tmp_path / "linker", detect="none")))


def test_an_unknown_name(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="detector-unknown"):
        detector_named("oracle", KnowledgeBase.open(tiny_kb))
