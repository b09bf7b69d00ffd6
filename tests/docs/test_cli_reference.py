"""docs/reference/cli.md names every command and option of the command line, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from onym.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text("utf-8")


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield every command with its words."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{path} {name}")


COMMANDS = dict(commands(typer.main.get_command(app), "onym"))


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def options(command: Any) -> set[str]:
    return {opt for param in command.params if param.param_type_name == "option" for opt in param.opts}


def arguments(command: Any) -> set[str]:
    return {param.name.upper() for param in command.params if param.param_type_name == "argument"}


def first_cells(section: str) -> set[str]:
    """Return what stands in code marks in the first column of the section's tables."""
    cells = re.findall(r"^\|([^|]*)\|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_the_page_has_every_command() -> None:
    assert list(sections()) == list(COMMANDS)
    assert len(COMMANDS) == 43


@pytest.mark.parametrize("path", COMMANDS)
def test_the_section_has_every_option_and_argument(path: str) -> None:
    command = COMMANDS[path]
    assert first_cells(sections()[path]) - {"--help"} == options(command) | arguments(command)


@pytest.mark.parametrize("path", [path for path, command in COMMANDS.items() if not hasattr(command, "commands")])
def test_the_section_has_the_help(path: str) -> None:
    help_text = " ".join(COMMANDS[path].help.split())
    what, _, example = help_text.partition(" Example: ")
    section = " ".join(sections()[path].split())
    assert what in section
    assert f"`{example}`" in section


def test_the_exit_statuses_are_those_of_the_errors() -> None:
    from onym.errors import ConfigError, InputError, IntegrityError, LimitError

    rows = {int(status) for status in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    something_left_out = 5
    assert rows == {
        0,
        1,
        something_left_out,
        130,
        *(kind.exit_status for kind in (ConfigError, InputError, IntegrityError, LimitError)),
    }
