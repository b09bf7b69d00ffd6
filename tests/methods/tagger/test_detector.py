"""Tests of opening a trained detector."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from onym.errors import ConfigError
from onym.kb import KnowledgeBase
from onym.methods import detector_config, open_detector
from onym.methods.tagger.detector import ModelDetectorConfig, detector_of
from onym.models.tensors import write_quantized
from onym.parts import OpenContext
from onym.types import Document
from tests.modules import without_torch

TEXT = "Fever, then a heart attack."


@pytest.fixture
def kb(tiny_kb: Path) -> KnowledgeBase:
    return KnowledgeBase.open(tiny_kb)


@pytest.mark.parametrize("detect", ["spans", "tags"])
def test_training_decides_between_spans_and_tags(tmp_path: Path, detect: str) -> None:
    pytest.importorskip("torch")
    from onym.methods.collective.model import Collective
    from tests.support.models import save_collective

    detector = detector_of(Collective.open(save_collective(tmp_path / "m", detect=detect)), ModelDetectorConfig(threshold=0.3))
    assert (detector.config["detector"], detector.config["threshold"]) == (detect, 0.3)
    with pytest.raises(ConfigError, match="cannot detect"):
        detector_of(Collective.open(save_collective(tmp_path / "linker", detect="none")))


def test_threshold_zero_is_used_and_none_is_the_default(tmp_path: Path, kb: KnowledgeBase) -> None:
    from tests.support.models import save_collective

    folder = save_collective(tmp_path / "m", threshold=1.0)
    own = open_detector(detector_config("model", model=folder), kb)
    assert own.config["threshold"] == 1.0
    (none,) = own.detect([Document("1", TEXT)])
    assert none.document.mentions == ()
    changed = open_detector(detector_config("model", model=str(folder), threshold=0.0, nested=True), kb)
    assert (changed.config["threshold"], changed.config["nested"]) == (0.0, True)
    (some,) = changed.detect([Document("1", TEXT)])
    assert some.document.mentions
    assert len(some.scores) == len(some.document.mentions)


def test_components_share_the_model(tmp_path: Path, kb: KnowledgeBase) -> None:
    from tests.support.models import save_collective

    config, context = detector_config("model", model=save_collective(tmp_path / "m")), OpenContext()
    first, second = open_detector(config, kb, context), open_detector(config, kb, context)
    assert first.model is second.model  # type: ignore[attr-defined]
    assert open_detector(config, kb).model is not first.model  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", [None, "lab/model"])
def test_without_a_model(kb: KnowledgeBase, model: str | None) -> None:
    with pytest.raises(ConfigError, match="model-missing"):
        open_detector(detector_config("model", model=model), kb)


def test_without_its_packages(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    without_torch(monkeypatch, "onym.models", "onym.methods.collective")
    with pytest.raises(ConfigError, match=r"onym\[models\]"):
        open_detector(detector_config("model", model="lab/model", engine="torch"), kb)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    for engine, extra in (("onnx", "onnx"), ("auto", "models")):
        with pytest.raises(ConfigError, match=rf"onym\[{extra}\]"):
            open_detector(detector_config("model", model="lab/model", engine=engine), kb)


def test_without_torch_the_model_runs_on_onnx_runtime(
    tmp_path: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    from onym.models import opening
    from tests.support.models import save_collective

    folder = save_collective(tmp_path / "m", threshold=0.1)
    own = {"model": folder, "dtype": "fp32"}
    by_engine = {engine: open_detector(detector_config("model", engine=engine, **own), kb) for engine in ("torch", "onnx")}
    assert "engine" not in by_engine["torch"].config
    assert open_detector(detector_config("model", **own), kb).config == by_engine["torch"].config
    monkeypatch.setattr(opening, "find_spec", lambda name: None if name == "torch" else find_spec(name))
    chosen = open_detector(detector_config("model", **own), kb)
    assert chosen.config == by_engine["onnx"].config
    assert chosen.config["engine"] == "onnx"
    (found,), (wanted,) = (detector.detect([Document("1", TEXT)]) for detector in (chosen, by_engine["torch"]))
    assert found.document == wanted.document
    assert found.document.mentions
    np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-4)


def test_weights_in_int8_run_on_onnx_runtime(tmp_path: Path, kb: KnowledgeBase) -> None:
    from tests.support.models import save_collective

    write_quantized(save_collective(tmp_path / "m", links=False), tmp_path / "small")
    detector = open_detector(detector_config("model", model=tmp_path / "small"), kb)
    assert (detector.config["engine"], detector.config["precision"]) == ("onnx", "int8")


@pytest.mark.parametrize(
    ("option", "code"), [({"device": "cuda"}, "device-unavailable"), ({"dtype": "bf16"}, "config-invalid")]
)
def test_onnx_runtime_supports_only_cpu_without_bf16(
    tmp_path: Path, kb: KnowledgeBase, option: dict[str, str], code: str
) -> None:
    from tests.support.models import save_collective

    folder = save_collective(tmp_path / "m", links=False)
    with pytest.raises(ConfigError, match=code):
        open_detector(detector_config("model", model=folder, engine="onnx", **option), kb)


@pytest.mark.parametrize(
    "option", [{"threshold": 1.5}, {"threshold": -0.1}, {"dtype": "fp8"}, {"device": "gpu"}, {"min_length": 3}]
)
def test_options_are_checked(option: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        detector_config("model", model="m", **option)
