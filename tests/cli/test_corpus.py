"""`onym corpus` as a person uses it: output, messages, exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import onym

GOOD = "1|t|High fever\n1|a|It rose.\n1\t5\t10\tfever\tDisease\tD005334\n\n"
BAD = GOOD + "2|t|Secret words\n2|a|\n2\t0\t6\tsecret\tDisease\t-1\n\n3\tbroken\n\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.txt").write_text(GOOD)
    (tmp_path / "bad.txt").write_text(BAD)
    return tmp_path


def test_convert_there_and_back(folder: Path) -> None:
    assert onym("corpus", "convert", "good.txt", "brat", "--to", "brat", cwd=folder).stdout == "documents\t1\nmentions\t1\n"
    assert "N1\tReference T1 MESH:D005334\tfever" in (folder / "brat" / "1.ann").read_text()
    onym("corpus", "convert", "brat", "again.txt", "--to", "pubtator", "--id-style", "curie", cwd=folder)
    assert "\tmesh:D005334\n" in (folder / "again.txt").read_text()


def test_convert_tells_what_was_left_out_and_lost_but_no_text(folder: Path) -> None:
    done = onym("corpus", "convert", "bad.txt", "out", "--to", "text", cwd=folder, status=5)
    assert "corpus-offsets: 2: " in done.stderr
    assert "corpus-malformed" in done.stderr
    assert "text cannot store all passages (2 documents)" in done.stderr
    assert "ecret" not in done.stderr + done.stdout
    answer = json.loads(onym("corpus", "convert", "bad.txt", "o.jsonl", "--to", "jsonl", "--json", cwd=folder, status=5).stdout)
    assert (answer["documents"], answer["mentions"], len(answer["problems"])) == (2, 1, 2)


def test_convert_refuses(folder: Path) -> None:
    assert "output-exists" in onym("corpus", "convert", "good.txt", "bad.txt", "--to", "jsonl", cwd=folder, status=2).stderr
    onym("corpus", "convert", "good.txt", "bad.txt", "--to", "jsonl", "--force", cwd=folder)
    assert "part-unknown" in onym("corpus", "convert", "good.txt", "x", "--to", "word", cwd=folder, status=2).stderr
    assert "format-read-only" in onym("corpus", "convert", "good.txt", "x", "--to", "pubmed", cwd=folder, status=2).stderr
    words = ("corpus", "convert", "good.txt", "x", "--to", "jsonl", "--id-style", "loud")
    assert "config-invalid" in onym(*words, cwd=folder, status=2).stderr
    assert "input-missing" in onym("corpus", "convert", "none", "x", "--to", "jsonl", cwd=folder, status=3).stderr
    assert not (folder / "x").exists()


def test_check(folder: Path) -> None:
    assert onym("corpus", "check", "good.txt", cwd=folder).stdout == "ok\tnothing wrong was found\n"
    lines = onym("corpus", "check", "bad.txt", cwd=folder, status=5).stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["corpus-offsets", "corpus-malformed"]
    problems = json.loads(onym("corpus", "check", "bad.txt", "--from", "pubtator", "--json", cwd=folder, status=5).stdout)
    assert problems[0]["where"] == "bad.txt:7"


def test_stats(folder: Path) -> None:
    lines = dict(line.split("\t") for line in onym("corpus", "stats", "good.txt", cwd=folder).stdout.splitlines())
    assert (lines["documents"], lines["type"], lines["vocabulary"]) == ("1", "Disease: 1", "mesh: 1")
    assert json.loads(onym("corpus", "stats", "bad.txt", "--json", cwd=folder).stdout)["problems"]["corpus-offsets"] == 1
