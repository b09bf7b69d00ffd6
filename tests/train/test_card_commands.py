"""Tests that the commands shown in model cards exist and work."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from onym.cli.app import app
from onym.packs.locate import pack_folder
from onym.train.card import card, pipeline_usage
from tests.cli.command import onym_bytes
from tests.train.test_card import RECORD

SHIPPED = sorted((Path(pack_folder("starter")).parent).glob("*/*/README.md"))


def commands_in(text: str) -> list[list[str]]:
    """Return the arguments of each command in the console blocks of a card."""
    return [shlex.split(line.removeprefix("$ ")) for line in text.splitlines() if line.startswith("$ ")]


def parse(words: list[str]) -> None:
    """Parse a command without running it: an unknown command or option is an error."""
    command, rest = get_command(app), words[1:]
    context = command.make_context("onym", list(rest), resilient_parsing=True)
    while hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, list(rest))
        if not hasattr(command, "resolve_command"):
            command.make_context(name, list(rest), parent=context)


def test_parser_rejects_unknown_options() -> None:
    with pytest.raises(Exception, match="--detector-classifier"):
        parse(shlex.split("onym link --kb KB_FOLDER --detector-classifier THIS_FOLDER notes/ -o links.jsonl"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: "-".join(path.parts[-3:-1]))
def test_commands_of_shipped_cards_exist(path: Path) -> None:
    commands = commands_in(path.read_text("utf-8"))
    assert commands
    for words in commands:
        parse(words)


def test_commands_of_detector_card_exist() -> None:
    commands = commands_in(card(RECORD | {"stages": ["detect"]}))
    assert commands == commands_in("\n".join(pipeline_usage("--detector model --detector-model THIS_FOLDER")))
    for words in commands:
        parse(words)


@pytest.mark.parametrize("part", ["classifier", "reranker"])
def test_commands_of_starter_cards_work(part: str, tmp_path: Path) -> None:
    starter = pack_folder("starter")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "1.txt").write_text("Fever in cystic fibrosis.")
    (tmp_path / "corpus.pubtator").write_text("1|t|Cystic fibrosis\n1|a|\n1\t0\t15\tCystic fibrosis\tDisease\tD003550\n")
    folders = {"KB_FOLDER": str(starter / "knowledge-base"), "THIS_FOLDER": str(starter / part)}
    for words in commands_in((starter / part / "README.md").read_text("utf-8")):
        printed = onym_bytes(*(folders.get(word, word) for word in words[1:]), cwd=tmp_path)
    written = tmp_path / "links.jsonl"
    assert b"D003550" in (written.read_bytes() if written.exists() else printed)
