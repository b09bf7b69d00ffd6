"""Tests that `--help` is short and ends with an example, and that `--help-all` shows every option."""

from __future__ import annotations

from pathlib import Path

import pytest

from onym.cli.app import Commands
from tests.cli.command import onym

MAX_LINES, MAX_OPTIONS = 60, 20
LONG = ["link", "map", "pipeline build", "serve"]
SHORT = ["kb build", "model convert", "get"]


def show(command: str, option: str, cwd: Path, columns: int = 80) -> str:
    return onym(*command.split(), option, cwd=cwd, env={"COLUMNS": str(columns)}).stdout


def options_of(command: str) -> list[str]:
    first, *rest = command.split()
    found = Commands()[first]
    for word in rest:
        found = found.commands[word]
    return [each.opts[0] for each in found.params if each.param_type_name == "option"]


@pytest.mark.parametrize("command", LONG)
def test_help_shows_the_common_options(tmp_path: Path, command: str) -> None:
    lines = show(command, "--help", tmp_path).rstrip().splitlines()
    assert len(lines) <= MAX_LINES
    assert sum(line.startswith("│ --") for line in lines) <= MAX_OPTIONS
    assert f"onym {command} --help-all" in lines[-1]
    assert any(f"Example: onym {command}" in line for line in lines[-10:])
    assert ("--port" if command == "serve" else "--output") in "".join(lines)
    assert "--width" not in "".join(lines)


@pytest.mark.parametrize("command", LONG + SHORT)
def test_help_all_shows_every_option(tmp_path: Path, command: str) -> None:
    text = show(command, "--help-all", tmp_path, columns=200)
    assert [option for option in options_of(command) if option not in text] == []
    assert f"Example: onym {command}" in text.rpartition("╯")[2]


@pytest.mark.parametrize("command", SHORT)
def test_a_command_with_few_options_shows_them_all(tmp_path: Path, command: str) -> None:
    assert show(command, "--help", tmp_path) == show(command, "--help-all", tmp_path)


def test_descriptions_are_cut_after_their_first_sentence(tmp_path: Path) -> None:
    short, full = show("link", "--help", tmp_path), show("link", "--help-all", tmp_path)
    assert ("such as 0.95" in short, "confident" in short) == (True, False)
    assert "confident" in full
