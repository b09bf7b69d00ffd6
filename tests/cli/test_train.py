"""Tests of `onym train` on the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from onym.train.stages import presets
from tests.cli.command import onym
from tests.robustness.stumbles.of_evaluate import NO_TORCH, prepare
from tests.robustness.stumbles.rows import Scene
from tests.support.models import save_encoder, save_model

SMALL = ["optim.steps=2", "optim.batch_size=2", "optim.precision=fp32", "start.window=32", "dev.mentions=0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_kb: Path) -> Path:
    """Return a folder with a model, a knowledge base and a configuration."""
    folder = tmp_path_factory.mktemp("train")
    save_model(folder / "model")
    shutil.copytree(tiny_kb, folder / "kb")
    (folder / "kb.toml").write_text('[start]\nmodel = "model"\n[data]\nkb = "kb"\n[optim]\nsteps = 99\n')
    return folder


def sets(*settings: str) -> list[str]:
    return [word for context in (*SMALL, *settings) for word in ("--set", context)]


@pytest.mark.slow
@pytest.mark.ci
def test_trains_a_model_and_prints_only_result_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output folder is named after the configuration by default."""
    monkeypatch.setenv("ONYM_RUNS", "runs")
    done = onym("train", "pretrain", "--config", "kb.toml", *sets(), cwd=folder)
    assert done.stdout == "model\truns/kb\ncard\truns/kb/README.md\nlog\truns/kb/log.jsonl\n"
    assert json.loads((folder / "runs" / "kb" / "training.json").read_text())["steps"] == 2
    assert (folder / "runs" / "kb" / "model.safetensors").is_file()


@pytest.mark.slow
def test_trains_an_encoder(folder: Path) -> None:
    save_encoder(folder / "encoder")
    settings = ["start.model=encoder", "data.kb=kb", "optim.steps=2", "optim.batch_size=2", "optim.precision=fp32"]
    words = [word for context in settings for word in ("--set", context)]
    done = onym("train", "align", "--preset", "cpu-small-align", *words, "-o", "aligned", cwd=folder)
    assert done.stdout == "model\taligned\ncard\taligned/README.md\nlog\taligned/log.jsonl\n"
    assert json.loads((folder / "aligned" / "encoder.json").read_text())["length"] == 32
    wrong = onym("train", "align", "--preset", "cpu-small-align", *words, "--set", "start.window=3", cwd=folder, status=2)
    assert "start.window" in wrong.stderr
    other = onym("train", "match", "--preset", "cpu-small-align", *words, cwd=folder, status=2)
    assert "onym train align" in other.stderr


@pytest.mark.slow
def test_device_option(folder: Path) -> None:
    words = ("train", "pretrain", "--config", "kb.toml", *sets(), "-o", "there")
    assert "optim.device" in onym(*words, "--device", "gpu", cwd=folder, status=2).stderr
    done = onym(*words, "--device", "cpu", cwd=folder)
    assert "opening the model" in done.stderr
    assert json.loads((folder / "there" / "training.json").read_text())["device"] == "cpu"


def test_reports_invalid_configuration_before_loading(folder: Path) -> None:
    words = ("train", "finetune", "-o", "x")
    assert "config-invalid" in onym(*words, "--set", "start.model=none", "--set", "optim.stepps=3", cwd=folder, status=2).stderr
    assert "config-invalid" in onym(*words, "--preset", "none", cwd=folder, status=2).stderr
    assert "input-missing" in onym(*words, "--config", "none.toml", cwd=folder, status=3).stderr
    stage = onym(*words, "--preset", "angel-ncbi-negative", "--set", "start.model=m", cwd=folder, status=2)
    assert "onym train prefer" in stage.stderr
    nameless = onym("train", "prefer", "--set", "start.model=model", cwd=folder, status=2)
    assert "neither --config nor --preset is given" in nameless.stderr
    assert not (folder / "x").exists()
    assert not (folder / "x.work").exists()


def test_presets(folder: Path) -> None:
    assert onym("train", "presets", cwd=folder).stdout.split() == presets()
    assert json.loads(onym("train", "presets", "--json", cwd=folder).stdout) == presets()
    text = onym("train", "presets", "genbioel-ncbi", cwd=folder).stdout
    assert "learning_rate = 3e-7" in text
    (folder / "own.toml").write_text(text)
    assert json.loads(onym("train", "presets", "genbioel-ncbi", "--json", cwd=folder).stdout)["optim"]["learning_rate"] == 3e-7
    assert "config-invalid" in onym("train", "presets", "none", cwd=folder, status=2).stderr


def test_reports_missing_packages(folder: Path) -> None:
    without = "import sys; sys.modules['accelerate'] = None; from onym.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", without, "train", "pretrain", "--config", "kb.toml", "-o", "none"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "pip install 'onym[train]'" in done.stderr


def test_trains_a_reranker_without_torch(tmp_path: Path) -> None:
    prepare(Scene(tmp_path))
    without = f"{NO_TORCH}\nfrom onym.cli import main; main()"
    words = ("--set", "data.datasets=['mine']", "--set", "data.kb=kb", "--set", "pool.encoder=none", "-o", "reranker")
    done = subprocess.run(
        [sys.executable, "-c", without, "train", "rerank", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "model\treranker\ncard\treranker/README.md\n"


def test_each_help_has_an_example(folder: Path) -> None:
    for stage in ("pretrain", "finetune", "prefer", "align", "match", "collective", "presets"):
        assert f"Example: onym train {stage}" in onym("train", stage, "--help", cwd=folder).stdout
