"""Tests that the suite `model-hostile` has enough folders and detects harm."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.robustness.models.case import write_pickle
from tests.robustness.models.model_hostile import CASES, Outcome, Watch

REFUSED = Outcome("a", "model-malformed", is_same=False, seconds=0.1, mb=0.0, executed=False, outside=False)


def test_has_enough_folders_without_duplicates() -> None:
    assert len({(case.kind, case.name) for case in CASES}) == len(CASES) >= 150
    assert {case.kind for case in CASES} == {"encoder", "bart", "t5", "collective", "convert", "pipeline", "onnx"}


def test_classifies_outcomes() -> None:
    assert REFUSED.fine
    assert replace(REFUSED, code="", is_same=True).fine
    assert not replace(REFUSED, code="").fine
    assert not replace(REFUSED, code="!PanicException").fine
    assert not replace(REFUSED, code="!hangs").fine
    assert not replace(REFUSED, executed=True).fine
    assert not replace(REFUSED, outside=True).fine


@pytest.mark.skipif(sys.platform != "linux", reason="inotify needs Linux")
def test_detects_files_opened_outside(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.json").write_text("{}")
    save_file({"a": torch.ones(2)}, tmp_path / "deep" / "a.safetensors")
    watch = Watch(tmp_path)
    assert not watch.was_read()
    (tmp_path / "a.json").read_text()
    assert watch.was_read()
    assert not watch.was_read()
    load_file(tmp_path / "deep" / "a.safetensors")  # this library opens the file in Rust, which Python does not see
    assert watch.was_read()
    watch.close()


def test_hostile_pickle_creates_marker(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    write_pickle("a.bin")(folder)
    pickle.loads((folder / "a.bin").read_bytes())
    assert (tmp_path / "executed").is_dir()
