"""Tests of `onym dataset` on the command line: output, messages, exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from unittest.mock import patch

from tests.cli import command
from tests.datasets.made import write_biosyn, write_ncbi, write_species


def onym(*words: str, cwd: Path, status: int = 0, data: Path | None = None) -> subprocess.CompletedProcess[str]:
    with patch.dict(os.environ):
        os.environ.pop("ONYM_DATA", None)
        return command.onym("dataset", *words, cwd=cwd, status=status, env={"ONYM_DATA": str(data)} if data else {})


def test_list(tmp_path: Path) -> None:
    rows = [line.split("\t") for line in onym("list", cwd=tmp_path).stdout.splitlines()]
    assert rows[0][:2] == ["ncbi-disease", "train dev test"]
    assert len(rows) == 28
    answer = json.loads(onym("list", "--json", cwd=tmp_path).stdout)
    assert answer[3]["files"][0] == "bc5cdr/CDR_TrainingSet.PubTator.txt"


def test_prepare_reports_sizes_drops_and_overlap(tmp_path: Path, tiny_kb: Path) -> None:
    data = write_biosyn(write_ncbi(tmp_path / "data"))
    done = onym("prepare", "ncbi-disease-genbioel", "-o", "out", "--data", str(data), cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert "split\ttrain\t3 documents\t3 mentions\t3 in the KB (100.0 %)" in lines
    assert "dropped\ttrain\ta composite, left out of train: 2" in lines
    assert lines[-1].startswith("OVERLAP: 1 of 2 dev mentions (50.0 %)")
    words = ("prepare", "ncbi-disease", "-o", "raw", "--kb", str(tiny_kb), "--json")
    answer = json.loads(onym(*words, cwd=tmp_path, data=data).stdout)
    assert answer["splits"]["train"]["in_kb"] == 2
    assert answer["inputs"][0]["name"] == "NCBItrainset_corpus.txt"
    assert (answer["warnings"], answer["restricts_types"]) == ([], False)


def test_prepare_rejects_invalid_arguments(tmp_path: Path) -> None:
    data = write_species(tmp_path / "data")
    assert "config-invalid" in onym("prepare", "s800", "-o", "out", cwd=tmp_path, status=2).stderr
    assert "dataset-unknown" in onym("prepare", "s900", "-o", "out", cwd=tmp_path, data=data, status=2).stderr
    assert "dataset-files" in onym("prepare", "bioid", "-o", "out", cwd=tmp_path, data=data, status=3).stderr
    assert "artefact-missing" in onym("prepare", "s800", "-o", "out", "--kb", "no", cwd=tmp_path, data=data, status=4).stderr
    assert not (tmp_path / "out").exists()
    onym("prepare", "s800", "-o", "out", cwd=tmp_path, data=data)
    assert "output-exists" in onym("prepare", "s800", "-o", "out", cwd=tmp_path, data=data, status=2).stderr
    onym("prepare", "s800", "-o", "out", "--force", cwd=tmp_path, data=data)


def test_prepares_an_own_corpus(tmp_path: Path, tiny_kb: Path) -> None:
    rows = "\n".join(f"{n}|t|Fever {n}\n{n}|a|\n{n}\t0\t5\tFever\tDisease\tD005334\n" for n in range(20))
    (tmp_path / "a.pubtator").write_text(rows)
    lines = onym("prepare", "a.pubtator", "--name", "mine", "--kb", str(tiny_kb), cwd=tmp_path).stdout.splitlines()
    assert "split\ttrain\t14 documents\t14 mentions\t14 in the KB (100.0 %)" in lines
    assert (tmp_path / "mine" / "CURRENT").exists()
    words = ("prepare", "a.pubtator", "--name", "folded", "--folds", "3", "--json")
    assert [each["name"] for each in json.loads(onym(*words, cwd=tmp_path).stdout)] == [
        "folded-fold1",
        "folded-fold2",
        "folded-fold3",
    ]
    words = ("prepare", "--name", "split", "--split", "train=a.pubtator", "--split", "test=a.pubtator")
    assert onym(*words, cwd=tmp_path).stdout.splitlines()[-1].startswith("OVERLAP: 20 of 20 test mentions")
    words = ("prepare", "a.pubtator", "--name", "shared", "--shares", "0.5,0.25,0.25", "--json")
    assert json.loads(onym(*words, cwd=tmp_path).stdout)["splits"]["dev"]["documents"] == 5


def test_rejects_two_ways_to_split_a_corpus(tmp_path: Path) -> None:
    for words in (
        ("a.txt", "--name", "mine", "--split", "train=b.txt"),
        ("a.txt", "--name", "mine", "--folds", "3", "--shares", "0.5,0.25,0.25"),
        ("--name", "mine", "--split", "train"),
        ("--name", "mine", "--split", "other=a.txt"),
        ("a.txt", "--name", "mine", "--shares", "much"),
        ("ncbi-disease", "-o", "out", "--folds", "3"),
        ("ncbi-disease",),
        ("a.txt", "b.txt", "-o", "out"),
    ):
        assert "config-invalid" in onym("prepare", *words, cwd=tmp_path, status=2).stderr
