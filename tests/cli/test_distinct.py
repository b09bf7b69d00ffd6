"""Tests of outputs that are inputs: every command knows which of its parameters it writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.main import get_command

from onym.cli.app import app
from onym.cli.distinct import OUTPUTS, require_distinct_outputs
from onym.cli.help import HelpCommand
from onym.errors import ConfigError

_INTO_A_FOLDER = {"pipeline build"}


def iter_commands(command: Any, *names: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for name, each in command.commands.items():
            yield from iter_commands(each, *names, name)
    else:
        yield " ".join(names), command


COMMANDS = dict(iter_commands(get_command(app)))


def context(**params: Any) -> SimpleNamespace:
    argument = SimpleNamespace(name="sources", param_type_name="argument")
    return SimpleNamespace(params=params, command=SimpleNamespace(params=[argument]))


@pytest.mark.parametrize("name", COMMANDS)
def test_command_checks_what_it_writes(name: str) -> None:
    command = COMMANDS[name]
    assert isinstance(command, HelpCommand)
    written = {each.name for each in command.params if {"-o", "--output"} & set(each.opts)}
    written |= {each.name for each in command.params if (getattr(each, "help", "") or "").startswith(("Write an", "Save the"))}
    assert written <= OUTPUTS or name in _INTO_A_FOLDER


@pytest.mark.parametrize(
    "params",
    [
        {"output": Path("a"), "sources": ["b", "./a"]},
        {"output": Path("a"), "report": Path("a")},
        {"output": "x/../a", "documents": ["a"]},
        {"save": Path("a"), "kb": Path("a")},
    ],
)
def test_rejects_an_output_that_is_an_input(params: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="output-exists"):
        require_distinct_outputs(context(**params))


@pytest.mark.parametrize(
    "params",
    [
        {"output": Path("-"), "sources": ["-"]},
        {"output": Path("a"), "title": "a", "sources": ["b"]},
        {"output": None, "sources": ["a", "a"]},
        {"output": "s3://bucket/a", "sources": ["s3://bucket/b"]},
    ],
)
def test_other_values_are_no_inputs(params: dict[str, Any]) -> None:
    require_distinct_outputs(context(**params))
