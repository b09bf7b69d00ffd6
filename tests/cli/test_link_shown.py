"""Tests that `onym link` without an output file prints a table."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from onym.outputs.table import read_flat
from onym.pipeline.folder import build_pipeline
from tests.cli.command import onym, onym_bytes

TEXT = "High fever (pyrexia), no heart attack."


@pytest.fixture
def folder(tmp_path: Path, tiny_kb: Path) -> Path:
    (tmp_path / "kb").symlink_to(tiny_kb)
    (tmp_path / "notes.txt").write_text(TEXT)
    build_pipeline(tiny_kb, tmp_path / "p")
    return tmp_path


def test_links_a_text_argument_and_pipes_a_table(folder: Path) -> None:
    printed = onym_bytes("link", TEXT, "--pipeline", "p", cwd=folder).decode()
    header, *rows = [line.split("\t") for line in printed.splitlines()]
    first = dict(zip(header, rows[0], strict=True))
    shown = (first["document"], first["text"], first["type"], first["concept_id"], first["preferred_name"])
    assert shown == ("1", "fever", "Disease", "MESH:D005334", "Fever")
    assert [row[header.index("text")] for row in rows] == ["fever", "pyrexia", "heart attack"]
    assert sorted(path.name for path in folder.iterdir()) == ["kb", "notes.txt", "p"], "nothing is written"


def test_json_prints_one_line_per_document(folder: Path) -> None:
    done = onym("link", TEXT, "fever", "notes.txt", "--pipeline", "p", "--json", cwd=folder)
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(doc["id"], len(doc["links"])) for doc in documents] == [("1", 3), ("2", 1), ("notes", 3)]
    assert documents[0]["links"][0]["candidates"][0]["preferred_name"] == "Fever"
    (bare,) = onym("link", TEXT, "--pipeline", "p", "--json", "--no-text", cwd=folder).stdout.splitlines()
    assert "High" not in bare
    assert "pyrexia" not in json.loads(bare)["links"][0]


@pytest.mark.parametrize("name", ["links.tsv", "links.csv", "links.jsonl", "links.parquet"])
def test_writes_tables_to_files(folder: Path, name: str) -> None:
    words = ("--format", "table") if name.endswith(".jsonl") else ()
    onym("link", "notes.txt", "--pipeline", "p", *words, "-o", name, cwd=folder)
    frame = read_flat(folder / name)
    assert frame["concept_id"].to_list() == ["MESH:D005334", "MESH:D005334", "MESH:D009203"]
    onym("link", "notes.txt", "--pipeline", "p", *words, "-o", name, "--force", "--no-text", cwd=folder)
    assert "text" not in read_flat(folder / name).columns
    refused = onym("link", "notes.txt", "--pipeline", "p", "--format", "table", "-o", "links.doc", cwd=folder, status=2)
    assert ".parquet" in refused.stderr


def test_missing_file_is_not_taken_as_text(folder: Path) -> None:
    for name in ("note.txt", "folder/notes"):
        assert "no such file" in onym("link", name, "--pipeline", "p", "-o", "x.tsv", cwd=folder, status=3).stderr


def test_terminal_shows_a_table(folder: Path) -> None:
    shown = on_a_terminal(folder, TEXT)
    assert shown[0].split() == ["text", "id", "preferred", "name", "score", "marks"]
    assert shown[2].split() == ["pyrexia", "MESH:D005334", "Fever", "1.00"]


def test_unlinked_rows_and_candidates_are_listed_on_request(folder: Path) -> None:
    (folder / "mi.pubtator").write_text("1|t|MI and xyz\n1|a|\n1\t0\t2\tMI\tDisease\t-\n1\t7\t10\txyz\tDisease\t-\n")
    assert [line.split()[0] for line in on_a_terminal(folder, "mi.pubtator") if line] == ["text", "MI"]
    shown = [line.split() for line in on_a_terminal(folder, "mi.pubtator", "--all") if line]
    assert [row[0] for row in shown[1:] if row[0] != "Infarction"] == ["MI", "MESH:D009203", "xyz"]
    assert shown[-1][-1] == "no-candidate"


def on_a_terminal(folder: Path, *words: str) -> list[str]:
    main, other = pty.openpty()
    command = [sys.executable, "-m", "onym", "link", *words, "--pipeline", "p"]
    environment = {**os.environ, "COLUMNS": "120", "TERM": "dumb"}
    with subprocess.Popen(command, stdout=other, stderr=subprocess.PIPE, cwd=folder, env=environment) as process:
        _, errors = process.communicate(timeout=120)
    os.close(other)
    shown = os.read(main, 65_536).decode().split("\r\n")
    os.close(main)
    assert process.returncode == 0, errors
    return [line.rstrip() for line in shown]
