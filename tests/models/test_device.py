"""Tests of choosing devices and precisions; encoders and detectors must create their tensors on the model's device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from onym.config import Strict
from onym.errors import ConfigError
from onym.methods.collective.model import Collective
from onym.methods.tagger.spans import score_spans, select_types, tag_spans
from onym.models.device import Device, resolve_device, resolve_precision
from onym.models.torch_encoder import Encoder
from onym.types import Document, Mention
from tests.models.second_device import DEVICE, second_device
from tests.support.models import save_collective

TEXTS = ["fever", "a heart attack of the left side", "fever"]
DOC = Document("1", "fever and pain in the left arm", (Mention(0, 5, "fever"), Mention(10, 14, "pain")))


def machine(monkeypatch: pytest.MonkeyPatch, *, gpus: int = 0, has_mps: bool = False) -> None:
    """Simulate a machine with these devices."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: has_mps)


@pytest.mark.parametrize(
    ("gpus", "has_mps", "wanted"), [(2, True, "cuda:0"), (2, False, "cuda:0"), (0, True, "mps"), (0, False, "cpu")]
)
def test_auto_is_the_best_device(monkeypatch: pytest.MonkeyPatch, gpus: int, has_mps: bool, wanted: str) -> None:
    machine(monkeypatch, gpus=gpus, has_mps=has_mps)
    assert resolve_device() == resolve_device("auto") == torch.device(wanted)


def test_devices_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, gpus=2, has_mps=True)
    found = [str(resolve_device(name)) for name in ("cpu", "cuda", "cuda:1", "mps")]
    assert found == ["cpu", "cuda:0", "cuda:1", "mps"]


@pytest.mark.parametrize("name", ["cuda:2", "cuda:x", "cuda:-1", "cpu:0", "mps:0", "tpu", "", "auto:1", "CPU"])
def test_rejects_unavailable_devices(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    machine(monkeypatch, gpus=2)
    with pytest.raises(ConfigError, match="device-unavailable") as caught:
        resolve_device(name)
    assert caught.value.fix == "use one of auto, cpu, cuda:0, cuda:1"


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "mps"])
def test_encoder_rejects_gpu_if_there_is_none(monkeypatch: pytest.MonkeyPatch, bert_folder: Path, name: str) -> None:
    machine(monkeypatch)
    with pytest.raises(ConfigError, match="device-unavailable"):
        Encoder.open(bert_folder, device=name)


@pytest.mark.parametrize(
    ("name", "is_valid"), [("cuda:12", True), ("auto", True), ("mps", True), ("gpu", False), ("cuda:", False)]
)
def test_device_in_configuration(name: str, is_valid: bool) -> None:
    class Config(Strict):
        device: Device = "auto"

    if is_valid:
        assert Config.of({"device": name}).device == name
    else:
        with pytest.raises(ConfigError, match="config-invalid"):
            Config.of({"device": name})


@pytest.mark.parametrize(
    ("has_amx", "has_avx", "wanted"), [(True, False, "bf16"), (False, True, "bf16"), (False, False, "fp32")]
)
def test_auto_is_bf16_on_cpus_that_support_it(
    monkeypatch: pytest.MonkeyPatch, has_amx: bool, has_avx: bool, wanted: str
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: has_amx)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has_avx)
    cpu = torch.device("cpu")
    assert [resolve_precision(each, cpu) for each in ("auto", "fp32", "bf16")] == [wanted, "fp32", "bf16"]


def test_auto_is_bf16_on_gpus_that_support_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_supported(has_it: bool) -> Any:
        return lambda including_emulation: has_it and not including_emulation

    for has_it, wanted in ((True, "bf16"), (False, "fp32")):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", is_supported(has_it))
        assert resolve_precision("auto", torch.device("cuda", 0)) == wanted
    assert resolve_precision("auto", torch.device("mps")) == "fp32"


def test_fake_device_rejects_mixed_tensors() -> None:
    """Checks the fake device: it must not mix with CPU tensors, and its tensors must not convert to NumPy."""
    with second_device() as device:
        there = torch.ones(2).to(device)
        assert (there + torch.zeros(2, device=device)).cpu().tolist() == [1.0, 1.0]
        with pytest.raises(RuntimeError, match="two devices"):
            there + torch.ones(2)
        with pytest.raises(RuntimeError):
            there.numpy()


def test_encoder_on_another_device(bert_folder: Path) -> None:
    encoder = Encoder.open(bert_folder, precision="fp32", device="cpu")
    wanted = encoder.encode(TEXTS)
    with second_device() as device:
        encoder._model.to(device)
        found = encoder.encode(TEXTS)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize(("detect", "represent"), [("spans", "mean"), ("tags", "ends")])
def test_document_reader_on_another_device(tmp_path: Path, detect: str, represent: str) -> None:
    folder = save_collective(tmp_path / "m", detect=detect, represent=represent)
    here, there = (Collective.open(folder, "fp32", device="cpu") for _ in range(2))
    with second_device() as device:
        there.reader.model.to(device)
        assert there.reader.model.device == DEVICE
        np.testing.assert_allclose(there.mention_vectors([DOC])[0], here.mention_vectors([DOC])[0], atol=1e-5)
        found = [_detect_spans(model) for model in (there, here)]
    assert found[0] == found[1] != []


def _detect_spans(model: Collective) -> list[tuple[int, int]]:
    (read,) = model.reader.read([DOC])
    if model.settings.detect == "spans":
        spans = score_spans(model, DOC.text, read, select_types(model.settings, threshold=0.4))
    else:
        spans = tag_spans(model, DOC.text, read, 0.4)
    return [(span.start, span.end) for span in spans]
