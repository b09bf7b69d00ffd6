"""Detectors by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.detect.dictionary import DictionaryConfig
from onym.detect.named import DETECTORS, detector_named
from onym.errors import ConfigError
from onym.kb import KnowledgeBase


def test_the_detector_says_its_own_name(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    named = {name: detector_named(name, kb, DictionaryConfig(nested=True)) for name in DETECTORS}
    assert named.pop("none") is None
    for name, detector in named.items():
        assert detector is not None
        assert detector.config | {"detector": name, "nested": True} == detector.config


def test_an_unknown_name(tiny_kb: Path) -> None:
    with pytest.raises(ConfigError, match="detector-unknown"):
        detector_named("oracle", KnowledgeBase.open(tiny_kb))
