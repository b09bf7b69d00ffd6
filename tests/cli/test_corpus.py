"""Tests of `onym corpus` on the command line: output, messages, exit statuses."""

from __future__ import annotations

import json
import os
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


def test_convert_round_trip(folder: Path) -> None:
    done = onym("corpus", "convert", "good.txt", "brat", "--to", "brat", cwd=folder)
    assert done.stdout == "files\t1\ndocuments\t1\nmentions\t1\n"
    assert "N1\tReference T1 MESH:D005334\tfever" in (folder / "brat" / "1.ann").read_text()
    onym("corpus", "convert", "brat", "again.txt", "--to", "pubtator", "--id-style", "curie", cwd=folder)
    assert "\tmesh:D005334\n" in (folder / "again.txt").read_text()


def test_convert_reports_losses_without_document_text(folder: Path) -> None:
    done = onym("corpus", "convert", "bad.txt", "out", "--to", "text", cwd=folder, status=5)
    assert "corpus-offsets: 2: " in done.stderr
    assert "corpus-malformed" in done.stderr
    assert "text cannot store all passages (2 documents)" in done.stderr
    assert "ecret" not in done.stderr + done.stdout
    answer = json.loads(onym("corpus", "convert", "bad.txt", "o.jsonl", "--to", "jsonl", "--json", cwd=folder, status=5).stdout)
    assert (answer["documents"], answer["mentions"], len(answer["problems"])) == (2, 1, 2)


def test_convert_rejects_invalid_arguments(folder: Path) -> None:
    assert "output-exists" in onym("corpus", "convert", "good.txt", "bad.txt", "--to", "jsonl", cwd=folder, status=2).stderr
    onym("corpus", "convert", "good.txt", "bad.txt", "--to", "jsonl", "--force", cwd=folder)
    assert "part-unknown" in onym("corpus", "convert", "good.txt", "x", "--to", "word", cwd=folder, status=2).stderr
    assert "format-read-only" in onym("corpus", "convert", "good.txt", "x", "--to", "pubmed", cwd=folder, status=2).stderr
    words = ("corpus", "convert", "good.txt", "x", "--to", "jsonl", "--id-style", "loud")
    assert "curie" in onym(*words, cwd=folder, status=2).stderr
    assert "input-missing" in onym("corpus", "convert", "none", "x", "--to", "jsonl", cwd=folder, status=3).stderr
    assert not (folder / "x").exists()


def test_check(folder: Path) -> None:
    assert onym("corpus", "check", "good.txt", cwd=folder).stdout == "ok\tno problems found\n"
    lines = onym("corpus", "check", "bad.txt", cwd=folder, status=5).stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["corpus-offsets", "corpus-malformed"]
    answer = json.loads(onym("corpus", "check", "bad.txt", "--from", "pubtator", "--json", cwd=folder, status=5).stdout)
    assert [(each["where"], each["ordinal"]) for each in answer["problems"]] == [("bad.txt:7", 2), ("bad.txt:9", 3)]


def test_stats(folder: Path) -> None:
    lines = dict(line.split("\t") for line in onym("corpus", "stats", "good.txt", cwd=folder).stdout.splitlines())
    assert (lines["documents"], lines["type"], lines["vocabulary"]) == ("1", "Disease: 1", "mesh: 1")
    answer = json.loads(onym("corpus", "stats", "bad.txt", "--json", cwd=folder, status=5).stdout)
    assert (answer["problems"]["corpus-offsets"], answer["left_out"]) == (1, 2)


@pytest.fixture
def mixture(tmp_path: Path) -> Path:
    """Return a folder with five readable files, two files that are ignored, and three that cause errors."""
    corpus = tmp_path / "mixed"
    corpus.mkdir()
    for number in range(3):
        (corpus / f"{number}.txt").write_text("A note.")
    (corpus / "1.txt").write_text(GOOD)
    (corpus / "3.jsonl").write_text('{"id": 1, "text": "Fever"}\n')
    (corpus / "4.json").write_text('[{"id": "1", "text": "Fever"}]')
    (corpus / "README.md").write_text("About.")
    (corpus / "empty.xml").write_text("")
    (corpus / "5.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "secret.txt").write_text("Secret words")
    (corpus / "6.bin").write_bytes(b"\x00\x01")
    os.mkfifo(corpus / "7.txt")
    return tmp_path


TOTALS = {"files": 10, "files_read": 5, "files_ignored": 2, "files_failed": 3}


@pytest.mark.parametrize("words", [("check",), ("stats",), ("convert", "out.jsonl", "--to", "jsonl")])
def test_reports_the_state_of_each_file(mixture: Path, words: tuple[str, ...]) -> None:
    done = onym("corpus", words[0], "mixed", *words[1:], "--json", cwd=mixture, status=5)
    answer = json.loads(done.stdout)
    assert {key: answer[key] for key in TOTALS} == TOTALS
    assert {file["name"]: file["code"] for file in answer["inputs"] if file["state"] == "failed"} == {
        "5.txt": "input-link", "6.bin": "format-unknown", "7.txt": "input-missing",
    }  # fmt: skip
    assert sum(file["documents"] for file in answer["inputs"]) == 5
    assert answer.get("documents", 5) == 5


def test_lists_failed_and_ignored_files_on_stderr(mixture: Path) -> None:
    done = onym("corpus", "stats", "mixed", cwd=mixture, status=5)
    assert done.stdout.startswith("files\t10\nignored\t2\nfailed\t3\ndocuments\t5\n")
    assert "failed: 6.bin: format-unknown: " in done.stderr
    assert "ignored: README.md: " in done.stderr
    assert "ignored\tempty.xml\tthe file is empty" in onym("corpus", "check", "mixed", cwd=mixture, status=5).stdout


def test_links_are_followed_on_request(mixture: Path) -> None:
    for words in (("check",), ("stats",), ("convert", "out.jsonl", "--to", "jsonl")):
        done = onym("corpus", words[0], "mixed", *words[1:], "--follow-links", "--json", cwd=mixture, status=5)
        assert (json.loads(done.stdout)["files_read"], json.loads(done.stdout)["files_failed"]) == (6, 2)


def test_ignored_files_do_not_fail_the_check(folder: Path) -> None:
    (folder / "notes").mkdir()
    (folder / "notes" / "1.txt").write_text("A note.")
    (folder / "notes" / "LICENSE").write_text("Yours.")
    assert onym("corpus", "check", "notes", cwd=folder).stdout.endswith("ok\tno problems found\n")
    onym("corpus", "stats", "notes", cwd=folder)
