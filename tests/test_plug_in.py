"""Tests of a plug-in package installed with pip: its components work like built-in ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.ci]

PACKAGE = Path(__file__).parent / "plug_in"
ONYM = [sys.executable, "-m", "onym"]
PAIRS = "mesh:D009203 => heart attack\nmesh:D005334 => high fever\n"


@pytest.fixture(scope="module")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the plug-in into a separate folder."""
    folder = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(PACKAGE)], check=True)
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "terms.pairs").write_text(PAIRS)
    (tmp_path / "notes.shout").write_text("!A HOT FLUSH, then HAZY AURA.!\n")
    return tmp_path


def onym(*words: str, cwd: Path, installed: Path | None, status: int = 0) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(installed or ""), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run([*ONYM, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def answers(path: Path) -> list[list[str]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [[answer[0] for answer in line["answers"]] for line in lines]


def test_each_part_works_in_the_command_line_and_in_a_pipeline(work: Path, site_folder: Path) -> None:
    onym("kb", "build", "terms.pairs", "-o", "kb", cwd=work, installed=site_folder)
    build = ("pipeline", "build", "--kb", "kb", "-o", "p", "--linker", "initials", "--letters", "1")
    onym(*build, "--detector", "capitals", "--detector-letters", "3", cwd=work, installed=site_folder)
    onym("link", "notes.shout", "--pipeline", "p", "-o", "links.jsonl", cwd=work, installed=site_folder)
    assert answers(work / "links.jsonl") == [["mesh:D005334"], ["mesh:D009203"]]
    onym("link", "notes.shout", "--pipeline", "p", "-o", "links.shout", "--format", "shouted", cwd=work, installed=site_folder)
    assert (work / "links.shout").read_text() == "!A HOT FLUSH, then HAZY AURA.!\n"
    onym("link", "notes.shout", "--pipeline", "p", "-o", "links.ids", cwd=work, installed=site_folder)
    assert (work / "links.ids").read_text() == "mesh:D005334\nmesh:D009203\n"


def test_components_run_from_a_pipeline_and_from_the_command_line(work: Path, site_folder: Path) -> None:
    (work / "notes.shout").write_text("!A HOT FLUSH (HF), then HAZY AURA.!\n")
    onym("kb", "build", "terms.pairs", "-o", "kb", cwd=work, installed=site_folder)
    build = ("pipeline", "build", "--kb", "kb", "--linker", "initials", "--detector", "capitals")
    onym(*build, "-o", "plain", cwd=work, installed=site_folder)
    onym(*build, "-o", "p", "--component", "outside-brackets", "--component", "words", cwd=work, installed=site_folder)
    written = json.loads((work / "p" / "pipeline.json").read_text())
    assert [each["kind"] for each in written["components"]] == ["outside-brackets", "words"]
    assert [(each["kind"], each["name"]) for each in written["plug_ins"]][-2:] == [
        ("component", "outside-brackets"),
        ("component", "words"),
    ]
    named = ("--component", "outside-brackets", "--component", "words")
    found = {}
    for name, options in {"plain": (), "p": (), "named": named}.items():
        pipeline = "p" if name == "p" else "plain"
        onym("link", "notes.shout", "--pipeline", pipeline, *options, "-o", f"{name}.jsonl", cwd=work, installed=site_folder)
        lines = [json.loads(line) for line in (work / f"{name}.jsonl").read_text().splitlines()[1:]]
        found[name] = [(line["start"], line.get("extra")) for line in lines]
    assert found["plain"] == [(2, None), (13, None), (23, None)]
    assert found["p"] == found["named"] == [(2, {"words": 2}), (23, {"words": 2})]
    written["components"][1]["least"] = 3
    (work / "p" / "pipeline.json").write_text(json.dumps(written))
    onym("link", "notes.shout", "--pipeline", "p", "-o", "p.jsonl", "--force", cwd=work, installed=site_folder)
    assert "extra" not in (work / "p.jsonl").read_text()
    (work / "a.txt").write_text("HOT FLUSH")
    refused = onym("link", "a.txt", "--pipeline", "p", "-o", "x", cwd=work, installed=None, status=4).stderr
    assert "[plug-in-missing]" in refused


def test_plug_in_can_be_evaluated_on_a_dataset(work: Path, site_folder: Path) -> None:
    onym("kb", "build", "terms.pairs", "-o", "kb", cwd=work, installed=site_folder)
    for split in ("Train", "Test"):
        text = "1|t|A hot flush\n1|a|\n1\t2\t11\thot flush\tSpecies\tmesh:D005334\n"
        (work / f"SPECIES_{split}.PubTator").write_text(text)
    words = ("evaluate", "--linker", "initials", "--dataset", "s800", "--data", ".", "--kb", "kb", "--json")
    figures = json.loads(onym(*words, cwd=work, installed=site_folder).stdout)
    assert figures["recall_at_1"] == 1.0
    assert figures["manifest"]["predictions"]["linker"] == {"linker": "initials", "letters": 1}


def test_help_shows_its_options_and_info_its_package(work: Path, site_folder: Path) -> None:
    assert "--letters" in onym("link", "--help-all", cwd=work, installed=site_folder).stdout
    parts = json.loads(onym("info", "--json", cwd=work, installed=site_folder).stdout)
    found = {(part["kind"], part["name"]): part for part in parts if part.get("package") == "onym-plug-in"}
    assert set(found) == {
        ("linker", "initials"), ("linker", "exact"), ("detector", "capitals"), ("reader", "pairs"), ("format", "shouted"),
        ("output", "ids"), ("component", "outside-brackets"), ("component", "words"),
    }  # fmt: skip
    assert found["linker", "initials"]["version"] == "1.2.3"
    assert "built-in" in found["linker", "exact"]["refused"]
    exact = [part["package"] for part in parts if (part.get("kind"), part["name"]) == ("linker", "exact")]
    assert exact == ["onym", "onym-plug-in"]


def test_a_built_in_linker_keeps_its_name(work: Path, site_folder: Path) -> None:
    onym("kb", "build", "terms.pairs", "-o", "kb", cwd=work, installed=site_folder)
    onym("pipeline", "build", "--kb", "kb", "-o", "p", "--detector", "capitals", cwd=work, installed=site_folder)
    onym("link", "notes.shout", "--pipeline", "p", "-o", "links.jsonl", cwd=work, installed=site_folder)
    assert answers(work / "links.jsonl") == [[], []]


def test_pipeline_records_the_package_and_fails_without_it(work: Path, site_folder: Path) -> None:
    onym("kb", "build", "terms.pairs", "-o", "kb", cwd=work, installed=site_folder)
    onym("pipeline", "build", "--kb", "kb", "-o", "p", "--linker", "initials", cwd=work, installed=site_folder)
    written = json.loads((work / "p" / "pipeline.json").read_text())
    assert written["plug_ins"] == [{"kind": "linker", "name": "initials", "package": "onym-plug-in", "version": "1.2.3"}]
    (work / "a.txt").write_text("HOT FLUSH")
    refused = onym("link", "a.txt", "--pipeline", "p", "-o", "x", cwd=work, installed=None, status=4).stderr
    assert "[plug-in-missing]" in refused
    assert "pip install onym-plug-in==1.2.3" in refused
