"""Tests that docs/reference/cli.md matches the help texts, and that text added by hand is kept when it is generated."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("cli_page", DOCS / "cli_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cli_page = _module()
PAGE = cli_page.PAGE.read_text("utf-8")
COMMANDS = dict(cli_page.commands())


def test_page_is_up_to_date() -> None:
    assert cli_page.page_with_commands(PAGE) == PAGE, "run python docs/cli_page.py"


def test_page_lists_each_command() -> None:
    assert re.findall(r"^## (.+)$", PAGE, re.MULTILINE) == list(COMMANDS)
    assert len(COMMANDS) > 40


@pytest.mark.parametrize("path", [path for path, command in COMMANDS.items() if not hasattr(command, "commands")])
def test_help_has_an_example_of_the_command(path: str) -> None:
    assert f"Example: {path}" in " ".join(COMMANDS[path].help.split())


@pytest.mark.parametrize("path", list(COMMANDS))
def test_options_of_a_command_are_unique(path: str) -> None:
    options = [option for parameter in COMMANDS[path].params for option in parameter.opts]
    assert len(options) == len(set(options))


def test_detects_changed_option() -> None:
    assert cli_page.page_with_commands(PAGE.replace("`--force`", "`--farce`", 1)) != PAGE.replace("`--force`", "`--farce`", 1)


def test_keeps_text_added_by_hand() -> None:
    text = PAGE.rstrip("\n") + "\n\nMore to say.\n"
    assert cli_page.page_with_commands(text) == text


def test_page_lists_each_exit_status() -> None:
    from onym.errors import ConfigError, InputError, IntegrityError, LimitError

    rows = {int(status) for status in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    something_left_out = 5
    kinds = (ConfigError, InputError, IntegrityError, LimitError)
    assert rows == {0, 1, something_left_out, 129, 130, 141, 143, *(kind.exit_status for kind in kinds)}
