"""Tests of `onym trie` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import onym

WORDS = ["</s>", "?", "heart", "attack", "failure", "fever"]
TOKENIZER = {
    "version": "1.0",
    "added_tokens": [],
    "normalizer": {"type": "Lowercase"},
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "model": {"type": "WordLevel", "vocab": {word: number for number, word in enumerate(WORDS)}, "unk_token": "?"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a knowledge base and a tokenizer."""
    folder = tmp_path_factory.mktemp("trie")
    (folder / "heart.csv").write_text("id,name,synonyms\nmesh:D1,Heart attack,Heart|Fever\nmesh:D2,Heart failure,\n")
    (folder / "words").mkdir()
    (folder / "words" / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    onym("kb", "build", "heart.csv", "-o", "kb", cwd=folder)
    return folder


def test_trie_is_stored_with_the_knowledge_base(folder: Path) -> None:
    described = json.loads(onym("trie", "build", "kb", "--tokenizer", "words", "--json", cwd=folder).stdout)
    assert described["counts"] == {"max_name_tokens": 2, "names": 4, "nodes": 9}
    assert Path(described["folder"]).parent == Path("kb/tries")
    again = json.loads(onym("trie", "build", "kb", "--tokenizer", "words", "--json", cwd=folder).stdout)
    assert again == described
    shown = onym("trie", "info", "kb", cwd=folder).stdout.splitlines()
    assert f"digest\t{described['digest']}" in shown
    assert {"nodes\t9", "bytes per node\t18.22", "max name tokens\t2", "names\tof 0-2 tokens: 4", "template\tgenbioel"} <= set(
        shown
    )


def test_builds_a_trie_in_another_folder(folder: Path) -> None:
    done = onym("trie", "build", "kb", "--tokenizer", "words", "--template", "genre", "-o", "own", cwd=folder)
    assert done.stdout.splitlines() == ["folder\town", "max_name_tokens\t2", "names\t4", "nodes\t9"]
    assert done.stderr == ""
    described = json.loads(onym("trie", "info", "own", "own", "--json", cwd=folder).stdout)
    assert [each["template"] for each in described] == ["genre", "genre"]
    assert described[0]["nodes_by_depth"] == [1, 2, 4, 2]


def test_reports_invalid_arguments(folder: Path) -> None:
    assert (
        "template-unknown"
        in onym("trie", "build", "kb", "--tokenizer", "words", "--template", "x", cwd=folder, status=2).stderr
    )
    assert "tokenizer-missing" in onym("trie", "build", "kb", "--tokenizer", ".", cwd=folder, status=2).stderr
    assert "artefact-missing" in onym("trie", "info", "words", cwd=folder, status=4).stderr
    assert "output-exists" in onym("trie", "build", "kb", "--tokenizer", "words", "-o", "words", cwd=folder, status=2).stderr


@pytest.mark.parametrize("command", ["build", "info"])
def test_the_help_has_an_example(folder: Path, command: str) -> None:
    assert f"Example: onym trie {command} hpo-kb" in onym("trie", command, "--help", cwd=folder).stdout
