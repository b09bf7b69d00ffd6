"""Tests of detectors on ONNX Runtime: the same spans and tags as on torch, and damaged folders are rejected."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from onym.errors import OnymError
from onym.methods.collective import onnx_model as onnx_collective
from onym.methods.collective.model import Collective
from onym.methods.collective.onnx_model import OnnxCollective
from onym.methods.collective.settings import HEADS, CollectiveSettings
from onym.methods.tagger.spans import SpanDetector, TagDetector, score_spans, select_types, tag_spans
from onym.models.tensors import write_quantized
from onym.types import Document
from tests.support.models import save_collective, save_encoder

TEXT = "Fever, then a heart attack and hyper-\r\ntension; the MI came late. " * 4
LABELS = [{"type": "Disease", "corpus": "a"}, {"type": "Chemical", "corpus": "a"}]
KINDS: dict[str, dict[str, Any]] = {
    "spans": {"detect": "spans"},
    "labels": {"detect": "spans", "labels": LABELS},
    "hidden": {"detect": "spans", "labels": LABELS, "hidden": 8, "represent": "ends", "dim": 12},
    "tags": {"detect": "tags"},
}


def save(folder: Path, kind: str = "hidden", family: str = "bert") -> Path:
    save_collective(folder, links=False, **KINDS[kind])
    save_encoder(folder, family)
    return folder


def read_states(model: Any) -> Any:
    (read,) = model.reader.read([Document("1", TEXT)])
    return np.asarray(read.states)


def find_spans(model: Any) -> list[tuple[tuple[int, int, str], float]]:
    (read,) = model.reader.read([Document("1", TEXT)])
    if model.settings.detect == "tags":
        found = tag_spans(model, TEXT, read, 0.4)
    else:
        found = score_spans(model, TEXT, read, select_types(model.settings, threshold=0.0))
    return [((span.start, span.end, span.type), span.score) for span in found]


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("kind", KINDS)
def test_same_answers_as_torch(tmp_path: Path, kind: str, family: str) -> None:
    folder = save(tmp_path / "m", kind, family)
    on_torch, on_onnx = Collective.open(folder, "fp32", device="cpu"), OnnxCollective.open(folder, "fp32")
    np.testing.assert_allclose(read_states(on_onnx), read_states(on_torch), atol=1e-4)
    wanted, found = find_spans(on_torch), find_spans(on_onnx)
    assert [span for span, _ in found] == [span for span, _ in wanted] != []
    np.testing.assert_allclose([score for _, score in found], [score for _, score in wanted], atol=1e-4)


def test_config_is_that_of_torch_and_names_the_engine(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    assert OnnxCollective.open(folder).config == {**Collective.open(folder, "fp32").config, "engine": "onnx"}


def test_int8_is_close_to_int8_on_torch(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    small, on_torch, exact = OnnxCollective.open(folder, "int8"), Collective.open(folder, "int8"), OnnxCollective.open(folder)
    assert small.config["precision"] == "int8"
    assert small.reader.key not in (exact.reader.key, on_torch.reader.key)
    loss = np.linalg.norm(read_states(small) - read_states(exact))
    assert 0 < np.linalg.norm(read_states(small) - read_states(on_torch)) < loss / 2
    assert loss < 0.1 * np.linalg.norm(read_states(exact))


def test_unsigned_weights_give_the_same_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save(tmp_path / "m")
    wanted = read_states(OnnxCollective.open(folder, "int8"))
    monkeypatch.setattr(onnx_collective, "multiplies_exactly", lambda: False)
    np.testing.assert_allclose(read_states(OnnxCollective.open(folder, "int8")), wanted, atol=1e-5)


def test_quantised_folder(tmp_path: Path) -> None:
    folder = save(tmp_path / "m")
    write_quantized(folder, tmp_path / "small")
    found = {name: OnnxCollective.open(tmp_path / "small", name) for name in ("auto", "int8", "fp32")}
    assert [each.config["precision"] for each in found.values()] == ["int8", "int8", "float32"]
    assert {each.config["parameters"] for each in found.values()} == {OnnxCollective.open(folder).config["parameters"]}
    states = {name: read_states(each) for name, each in found.items()}
    assert (states["auto"] == states["int8"]).all()
    wanted = read_states(OnnxCollective.open(folder))
    assert np.linalg.norm(states["fp32"] - wanted) < np.linalg.norm(states["int8"] - wanted) < 0.1 * np.linalg.norm(wanted)


@pytest.mark.parametrize("kind", ["spans", "tags"])
def test_nan_scores_become_a_problem(tmp_path: Path, kind: str) -> None:
    folder = save(tmp_path / "m", kind)
    heads = load_file(folder / HEADS)
    for values in heads.values():
        values.flat[0] = 3e38  # finite, but the product with a token vector is not
    save_file(heads, folder / HEADS)
    model = OnnxCollective.open(folder)
    detector = SpanDetector(model) if kind == "spans" else TagDetector(model)
    (found,) = detector.detect([Document("1", TEXT)])
    assert [problem.code for problem in found.problems] == ["model-not-finite"]


def test_empty_document(tmp_path: Path) -> None:
    detector = SpanDetector(OnnxCollective.open(save(tmp_path / "m")), threshold=0.0)
    found = detector.detect([Document("1", ""), Document("2", " \n"), Document("3", "fever")])
    assert [bool(each.document.mentions) for each in found] == [False, False, True]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda heads: heads.pop("label.bias"), "model-malformed"),
        (lambda heads: heads.update(more=np.zeros(1, np.float32)), "model-malformed"),
        (lambda heads: heads.update({"label.bias": np.zeros(3, np.float32)}), "model-malformed"),
        (lambda heads: heads.update({"label.bias": np.zeros(2, np.int64)}), "model-malformed"),
        (lambda heads: heads["label.bias"].fill(np.nan), "model-not-finite"),
    ],
)
def test_rejects_wrong_heads(tmp_path: Path, change: Any, code: str) -> None:
    folder = save(tmp_path / "m")
    heads = load_file(folder / HEADS)
    change(heads)
    save_file(heads, folder / HEADS)
    with pytest.raises(OnymError, match=code) as caught:
        OnnxCollective.open(folder)
    assert caught.value.where == str(folder / HEADS)


@pytest.mark.parametrize("spoil", [lambda data: data[:40], lambda _: b"", lambda data: b"\xff" * 8 + data[8:]])
def test_rejects_damaged_heads(tmp_path: Path, spoil: Any) -> None:
    path = save(tmp_path / "m") / HEADS
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(OnymError, match="model-malformed|limit-model"):
        OnnxCollective.open(tmp_path / "m")


@pytest.mark.parametrize(
    ("file", "values", "code"),
    [
        (CollectiveSettings.FILE, {"window": 65}, "model-malformed"),
        (CollectiveSettings.FILE, {"overlap": 31}, "model-malformed"),
        (CollectiveSettings.FILE, {"hidden": 10_000}, "model-malformed"),
        ("config.json", {"intermediate_size": 32}, "model-malformed"),
        ("config.json", {"model_type": "distilbert"}, "model-family"),
        ("config.json", {"hidden_act": "relu"}, "model-family"),
        ("config.json", {"num_hidden_layers": 200_000}, "limit-model"),
    ],
)
def test_rejects_configurations_that_do_not_match(tmp_path: Path, file: str, values: dict[str, Any], code: str) -> None:
    path = save(tmp_path / "m") / file
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    with pytest.raises(OnymError, match=code):
        OnnxCollective.open(tmp_path / "m")


def test_rejects_folder_without_settings(tmp_path: Path) -> None:
    (save(tmp_path / "m") / CollectiveSettings.FILE).unlink()
    with pytest.raises(OnymError, match="model-family"):
        OnnxCollective.open(tmp_path / "m")


def test_torch_is_not_imported(tmp_path: Path) -> None:
    code = """import sys
from onym.methods.tagger.spans import SpanDetector
from onym.methods.collective.onnx_model import OnnxCollective
from onym.types import Document
(found,) = SpanDetector(OnnxCollective.open(sys.argv[1]), threshold=0.0).detect([Document("1", "fever")])
assert found.document.mentions
assert not {"torch", "transformers"} & set(sys.modules)"""
    subprocess.run([sys.executable, "-c", code, str(save(tmp_path / "m"))], check=True)
