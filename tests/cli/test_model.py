"""Tests of `onym model` on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cli.command import onym
from tests.cli.test_corpus import GOOD
from tests.support.models import save_model, tiny_bart


class Evil:
    """Object that creates a file when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("was-run",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a pickled model, a malicious pickle, and a corpus to link."""
    folder = tmp_path_factory.mktemp("model")
    for name, weights in (("old", tiny_bart().state_dict()), ("evil", {"weight": torch.ones(2), "more": Evil()})):
        save_model(folder / name)
        (folder / name / "model.safetensors").unlink()
        torch.save(weights, folder / name / "pytorch_model.bin")
    (folder / "good.txt").write_text(GOOD)
    (folder / "kb.tsv").write_text("id\tname\nmesh:D005334\tfever\n")
    onym("kb", "build", "kb.tsv", "-o", "kb", cwd=folder)
    return folder


def test_rejects_pickled_weights_until_converted(folder: Path) -> None:
    words = ("link", "good.txt", "--kb", "kb", "--linker", "generative", "-o", "p.jsonl")
    refused = onym(*words, "--model", "old", cwd=folder, status=2)
    assert "model-unsafe" in refused.stderr
    assert "onym model convert old -o " in refused.stderr
    described = json.loads(onym("model", "convert", "old", "-o", "new", "--json", cwd=folder).stdout)
    assert described == {"tensors": len(tiny_bart().state_dict()), "output": "new"}
    onym(*words, "--model", "new", cwd=folder)
    assert json.loads((folder / "p.jsonl").read_text().splitlines()[1])["answers"][0][0] == "mesh:D005334"
    assert "output-exists" in onym("model", "convert", "old", "-o", "new", cwd=folder, status=2).stderr


def test_rejects_pickled_code_without_running_it(folder: Path) -> None:
    assert "model-malformed" in onym("model", "convert", "evil", "-o", "bad", cwd=folder, status=3).stderr
    assert not (folder / "bad").exists()
    assert not (folder / "was-run").exists()


def test_reports_a_folder_without_weights(folder: Path) -> None:
    assert "model-missing" in onym("model", "convert", "new-none", "-o", "bad", cwd=folder, status=2).stderr


def test_reports_missing_packages(folder: Path) -> None:
    without = "import sys; sys.modules['torch'] = None; from onym.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", without, "model", "convert", "old", "-o", "bad"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "pip install 'onym[models]'" in done.stderr


def test_the_help_has_an_example(folder: Path) -> None:
    assert "Example: onym model convert" in onym("model", "convert", "--help", cwd=folder).stdout
    assert "convert" in onym("model", "--help", cwd=folder).stdout
