"""Tests of parsing and validating pipeline configurations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onym.errors import ConfigError, IntegrityError
from onym.methods import detector_config, linker_config
from onym.methods.dictionary.detector import DictionaryDetectorConfig as DictionaryConfig
from onym.methods.exact import ExactLinkerConfig as ExactConfig
from onym.pipeline.config import PipelineConfig, PlugIn, find_plug_ins, require_plug_ins
from onym.registry import LINKERS, Part

PLAIN: dict[str, Any] = {
    "onym": "0.1.0",
    "kb": {"path": "kb", "digest": "ab"},
    "detector": {"kind": "dictionary"},
    "linker": {"kind": "exact"},
}
SOUNDEX = {"kind": "linker", "name": "soundex", "package": "onym-soundex", "version": "1.0"}
KINDS = ["cascade", "collective", "dense", "exact", "generative", "tfidf"]


def test_defaults() -> None:
    config = PipelineConfig.of(PLAIN)
    assert config.detector == DictionaryConfig()
    assert config.linker == ExactConfig()
    assert (config.format, config.threshold, config.top_k, config.plug_ins) == (3, None, 10, ())
    assert PipelineConfig.model_validate_json(config.model_dump_json()) == config


def test_without_a_detector() -> None:
    config = PipelineConfig.of(PLAIN | {"detector": None})
    assert config.detector is None
    assert PipelineConfig.model_validate_json(config.model_dump_json()) == config
    with pytest.raises(ConfigError, match="detector"):
        PipelineConfig.of({key: value for key, value in PLAIN.items() if key != "detector"})


@pytest.mark.parametrize("kind", KINDS)
def test_parses_each_linker_with_its_config_class(kind: str) -> None:
    config = PipelineConfig.of(PLAIN | {"linker": {"kind": kind}})
    assert type(config.linker) is LINKERS.load(kind).Config
    assert PipelineConfig.model_validate_json(config.model_dump_json()) == config


def test_options_round_trip() -> None:
    linker = linker_config("cascade", model="m", encoder="e", index="sq8", candidates=7, window=64)
    detector = detector_config("model", model="d", threshold=0.0, nested=True)
    config = PipelineConfig.of(PLAIN | {"linker": linker, "detector": detector, "threshold": 0.0, "types": ("C14",)})
    written = json.loads(config.model_dump_json())
    assert written["linker"]["dense"] == linker.model_dump()["dense"]
    assert written["detector"]["threshold"] == written["threshold"] == 0.0
    assert PipelineConfig.model_validate_json(json.dumps(written)) == config


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "red"},
        {"detector": {"kind": "os.system"}},
        {"detector": {"kind": "none"}},
        {"detector": {"kind": "dictionary", "dtype": "fp32"}},
        {"detector": "dictionary"},
        {"detector": {}},
        {"linker": None},
        {"linker": {"kind": "oracle"}},
        {"linker": {"kind": "onym.methods.exact"}},
        {"linker": {"kind": "base"}},
        {"linker": {"kind": "_nearest"}},
        {"linker": {"kind": ["exact"]}},
        {"linker": {"kind": "exact", "width": 5}},
        {"linker": {"kind": "generative", "width": 0}},
        {"linker": {"kind": "dictionary"}},
        {"threshold": float("nan")},
        {"top_k": 0},
        {"format": 1},
        {"format": 2},
        {"kb": "kb"},
        {"plug_ins": [{"kind": "linker"}]},
    ],
)
def test_rejects_invalid_configuration(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        PipelineConfig.of(PLAIN | change)


def test_built_in_components_are_not_plug_ins() -> None:
    assert find_plug_ins(linker_config("exact"), detector_config("dictionary")) == ()
    assert find_plug_ins(linker_config("exact"), None) == ()


def test_records_package_and_version_of_plug_in(monkeypatch: pytest.MonkeyPatch) -> None:
    linker, detector = linker_config("exact"), detector_config("dictionary")
    monkeypatch.setattr(LINKERS, "part", lambda name: Part("linker", name, "onym-soundex", "1.0"))
    found = find_plug_ins(linker, detector)
    assert found == (PlugIn(kind="linker", name="exact", package="onym-soundex", version="1.0"),)


def test_missing_plug_in_error_names_the_package() -> None:
    require_plug_ins({}, "p")
    require_plug_ins({"plug_ins": []}, "p")
    require_plug_ins({"plug_ins": [SOUNDEX | {"name": "exact"}]}, "p")
    for each in (SOUNDEX, SOUNDEX | {"kind": "detector", "name": "exact"}):
        with pytest.raises(IntegrityError, match="plug-in-missing") as caught:
            require_plug_ins({"plug_ins": [each]}, "p/pipeline.json")
        assert "onym-soundex 1.0" in caught.value.what
        assert caught.value.fix == "pip install onym-soundex==1.0"
        assert caught.value.where == "p/pipeline.json"
