"""Tests of `onym pipeline` on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from onym.datasets import prepare
from tests.cli.command import onym
from tests.datasets.made import write_graded
from tests.support.models import save_model


@pytest.fixture
def folder(tmp_path: Path, tiny_kb: Path) -> Path:
    shutil.copytree(tiny_kb, tmp_path / "kb")
    return tmp_path


def test_build_and_info(folder: Path) -> None:
    (folder / "ids.txt").write_text("mesh:D009203\nmesh:D006973\n")
    words = ("--types", "C14, C23", "--concepts", "ids.txt", "--threshold", "0.5", "--detector-nested")
    done = onym("pipeline", "build", "--kb", "kb", *words, "-o", "p", "--json", cwd=folder)
    described = json.loads(done.stdout)
    assert (described["folder"], described["concepts_allowed"], described["threshold"]) == ("p", 2, 0.5)
    assert described["detector"]["nested"] is True
    settings = json.loads(onym("pipeline", "info", "p", "--json", cwd=folder).stdout)
    assert settings["types"] == ["C14", "C23"]
    assert settings["concepts"] == ["mesh:D009203", "mesh:D006973"]
    rows = dict(line.split("\t") for line in onym("pipeline", "info", "p", cwd=folder).stdout.splitlines())
    assert (rows["detector"], rows["linker"], rows["threshold"], rows["concepts"]) == ("dictionary", "exact", "0.5", "2")
    assert rows["kb"].startswith(str(folder / "kb"))


def test_a_cascade_with_a_model(folder: Path) -> None:
    save_model(folder / "model")
    words = ("--detector", "none", "--linker", "cascade", "--model", "model", "--width", "2")
    onym("pipeline", "build", "--kb", "kb", *words, "-o", "p", cwd=folder)
    assert "width\t2" in onym("pipeline", "info", "p", cwd=folder).stdout
    (folder / "a.jsonl").write_text('{"id":"1","text":"fever, rash","mentions":[{"start":0,"end":5},{"start":7,"end":11}]}\n')
    done = onym("link", "a.jsonl", "--pipeline", "p", "-o", "out.jsonl", "--json", cwd=folder)
    counts = json.loads(done.stdout)
    assert (counts["by_exact"], counts["by_generative"]) == (1, 1)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--detector", "oracle"), "part-unknown"),
        (("--linker", "oracle"), "part-unknown"),
        (("--linker", "onym.methods.exact"), "part-unknown"),
        (("--linker", "cascade"), "model-missing"),
        (("--detector", "model"), "model-missing"),
        (("--width", "3"), "config-invalid"),
        (("--detector-threshold", "0.5"), "config-invalid"),
        (("--detector", "none", "--detector-nested"), "config-invalid"),
        (("--types", "C99"), "filter-unknown"),
    ],
)
def test_usage_errors_write_nothing(folder: Path, words: tuple[str, ...], code: str) -> None:
    assert code in onym("pipeline", "build", "--kb", "kb", *words, "-o", "p", cwd=folder, status=2).stderr
    assert not (folder / "p").exists()


def test_reports_changed_files(folder: Path) -> None:
    onym("pipeline", "build", "--kb", "kb", "-o", "p", cwd=folder)
    path = folder / "p" / "pipeline.json"
    built = path.read_text()
    path.write_text(built.replace('"digest": "', '"digest": "0'))
    (folder / "a.txt").write_text("fever")
    assert "pipeline-changed" in onym("link", "a.txt", "--pipeline", "p", "-o", "o", cwd=folder, status=4).stderr
    path.write_text(built.replace('"format": 3', '"format": 2'))
    assert "pipeline-version" in onym("link", "a.txt", "--pipeline", "p", "-o", "o", cwd=folder, status=4).stderr
    assert "pipeline-version" in onym("pipeline", "info", "p", cwd=folder, status=4).stderr
    assert "pipeline-missing" in onym("pipeline", "info", "kb", cwd=folder, status=3).stderr


def test_detector_options_have_a_prefix(folder: Path) -> None:
    words = ("--detector-min-length", "2", "--no-detector-abbreviations", "--no-expand-abbreviations", "--threshold", "0")
    onym("pipeline", "build", "--kb", "kb", *words, "-o", "p", cwd=folder)
    config = json.loads(onym("pipeline", "info", "p", "--json", cwd=folder).stdout)
    assert (config["detector"]["min_length"], config["detector"]["abbreviations"]) == (2, False)
    assert config["linker"] == {"kind": "exact", "inflections": False, "reordered": None}
    assert (config["threshold"], config["expand_abbreviations"]) == (0.0, False)


def test_links_with_precision_after_calibration(folder: Path) -> None:
    prepare("ncbi-disease", write_graded(folder / "data"), folder / "prepared")
    onym("pipeline", "build", "--kb", "kb", "--detector", "none", "-o", "p", cwd=folder)
    figures = json.loads(onym("calibrate", "p", "--dataset", "prepared", "--json", cwd=folder).stdout)
    assert (figures["mentions"], figures["answers"], figures["right"]) == ("given", 80, 0.75)
    assert ([each["split"] for each in figures["datasets"]], figures["documents"], figures["left_out"]) == (["dev"], 20, 0)
    assert figures["answered_at_0.98"].startswith("not reached")
    assert "calibrated on\tncbi-disease (dev): 80 answers" in onym("pipeline", "info", "p", cwd=folder).stdout
    (folder / "a.jsonl").write_text('{"id":"1","text":"fever","mentions":[{"start":0,"end":5}]}\n')
    words = ("link", "a.jsonl", "--pipeline", "p", "--force", "-o", "out.jsonl")
    onym(*words, cwd=folder)
    link = json.loads((folder / "out.jsonl").read_text().splitlines()[1])
    assert 0 < link["confidence"] < 1
    requested = onym(*words, "--precision", "0.99", cwd=folder, status=2)
    assert "[precision-unreachable]" in requested.stderr


def test_precision_requires_a_calibrated_pipeline(folder: Path) -> None:
    onym("pipeline", "build", "--kb", "kb", "--detector", "none", "-o", "p", cwd=folder)
    (folder / "a.jsonl").write_text('{"id":"1","text":"fever"}\n')
    for words in (("--pipeline", "p"), ("--kb", "kb")):
        done = onym("link", "a.jsonl", *words, "--coverage", "0.9", "-o", "out.jsonl", cwd=folder, status=2)
        assert "[pipeline-uncalibrated]" in done.stderr
        assert not (folder / "out.jsonl").exists()


def test_check_names(folder: Path) -> None:
    onym("pipeline", "build", "--kb", "kb", "-o", "p", cwd=folder)
    rows = dict(line.split("\t") for line in onym("pipeline", "check-names", "p", cwd=folder).stdout.splitlines())
    assert rows["preferred names"] == "3 checked, 0 not linked to their concept"
    report = json.loads(onym("pipeline", "check-names", "p", "--names", "1", "--json", cwd=folder).stdout)
    assert (report["checked"], report["exceptions"]) == ({"preferred": 1, "synonym": 1}, [])
    onym("pipeline", "build", "--kb", "kb", "-o", "strict", "--threshold", "2", cwd=folder)
    strict = json.loads(onym("pipeline", "check-names", "strict", "--json", cwd=folder).stdout)
    assert strict["percent"]["preferred"] == 0
    assert {each["cause"] for each in strict["exceptions"]} == {"below-threshold"}
