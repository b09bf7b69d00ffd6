"""Tests of opening detectors by their short names."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.kb.ranking import concepts_of_types
from onym.methods import detector_config, open_detector
from onym.methods.dictionary.detector import DictionaryDetectorConfig
from onym.registry import DETECTORS


def test_the_built_in_detectors() -> None:
    own = [part.name for part, _ in DETECTORS.parts() if part.is_built_in]
    assert own == ["dictionary", "model", "several", "student", "variants"]


def test_config_has_the_name_of_the_detector(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    detector = open_detector(detector_config("dictionary", nested=True), kb)
    assert detector.config | {"detector": "dictionary", "nested": True} == detector.config
    assert open_detector("dictionary", kb).config == open_detector(DictionaryDetectorConfig(), kb).config


def test_only_some_concepts(tiny_kb: Path) -> None:
    kb = KnowledgeBase.open(tiny_kb)
    assert open_detector("dictionary", kb, only=concepts_of_types(kb, ["C14"])).config["concepts_allowed"] == 2


def test_ignores_none_and_rejects_unknown_options() -> None:
    assert detector_config("dictionary", min_length=None, dtype=None) == DictionaryDetectorConfig()
    assert detector_config("dictionary", min_length=2, abbreviations=False) == DictionaryDetectorConfig(
        min_length=2, abbreviations=False
    )
    with pytest.raises(ConfigError, match="dtype is not an option of dictionary"):
        detector_config("dictionary", dtype="fp32")
    with pytest.raises(ConfigError, match="config-invalid"):
        detector_config("dictionary", min_length=0)


@pytest.mark.parametrize("name", ["oracle", "none", "base", "_spans", "onym.methods.dictionary.detector", ""])
def test_an_unknown_name(tiny_kb: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="part-unknown"):
        open_detector(name, KnowledgeBase.open(tiny_kb))
