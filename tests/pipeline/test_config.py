"""What a pipeline's file may say."""

from __future__ import annotations

from typing import Any

import pytest
from onym.linkers.named import LINKERS, LinkerOptions

from onym.detect.dictionary import DictionaryConfig
from onym.errors import ConfigError
from onym.pipeline.config import DictionarySettings, LinkerSettings, PipelineSettings

PLAIN: dict[str, Any] = {
    "onym": "0.1.0",
    "kb": {"path": "kb", "digest": "ab"},
    "detector": {"kind": "dictionary"},
    "linker": {"kind": "exact"},
}


def test_defaults_are_those_of_the_parts() -> None:
    settings = PipelineSettings.of(PLAIN)
    assert isinstance(settings.detector, DictionarySettings)
    assert settings.detector.config == DictionaryConfig()
    options = LinkerOptions()
    assert (settings.linker.width, settings.linker.index) == (options.width, options.index)
    assert PipelineSettings.model_validate_json(settings.model_dump_json()) == settings


@pytest.mark.parametrize("kind", LINKERS)
def test_every_linker_has_its_place(kind: str) -> None:
    assert LinkerSettings.of({"kind": kind}).kind == kind


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "red"},
        {"detector": {"kind": "os.system"}},
        {"detector": {"kind": "none", "shortest": 3}},
        {"linker": {"kind": "oracle"}},
        {"linker": {"kind": "exact", "width": 0}},
        {"threshold": float("nan")},
        {"format": 2},
        {"kb": "kb"},
    ],
)
def test_anything_else_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        PipelineSettings.of(PLAIN | change)
