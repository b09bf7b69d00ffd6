"""Tests that a command imports only its own modules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from onym.cli import app as onym_app
from tests.cli.command import onym

CODE = """
import sys
from onym.cli import main
sys.argv = ["onym", *sys.argv[1:]]
try:
    main()
except SystemExit:
    print(*(name for name in sys.modules if name.startswith("onym.cli.")), file=sys.stderr)
"""


def modules_of(*words: str, cwd: Path) -> set[str]:
    done = subprocess.run([sys.executable, "-c", CODE, *words], cwd=cwd, capture_output=True, text=True, check=True)
    return {name.removeprefix("onym.cli.") for name in done.stderr.splitlines()[-1].split()}


@pytest.mark.parametrize(
    ("words", "modules"),
    [
        (
            ["link", "asthma"],
            {"boundary", "app", "console", "distinct", "help", "options", "inputs", "answers", "answering", "link"},
        ),
        (["--version"], {"boundary", "app", "console"}),
        (["--help"], {"boundary", "app", "console"}),
        (["kb", "--help"], {"boundary", "app", "console", "distinct", "help", "options", "inputs", "kb"}),
    ],
)
def test_command_imports_only_its_own_modules(tmp_path: Path, words: list[str], modules: set[str]) -> None:
    assert modules_of(*words, cwd=tmp_path) == modules


def test_full_help_describes_each_command(tmp_path: Path) -> None:
    shown = onym("--help-all", cwd=tmp_path).stdout
    assert [name for name in onym_app.MODULES if f"│ {name} " not in shown] == []
    assert "--install-completion" in shown


def test_help_and_its_page_of_advanced_commands_name_each_command(tmp_path: Path) -> None:
    first, more = onym("--help", cwd=tmp_path).stdout, onym("advanced", cwd=tmp_path).stdout
    named = [name for commands in onym_app.GROUPS.values() for name in commands]
    assert all(f"  {name}" in first for name in named)
    assert re.findall(r"^onym (\w+)\t.", more, re.MULTILINE) == list(onym_app.ADVANCED)
    assert {*named, *onym_app.ADVANCED, "advanced"} == set(onym_app.MODULES)
    assert "--install-completion" not in first


def test_commands_have_a_name_and_a_help() -> None:
    commands = onym_app.Commands()
    assert [(name, command.name) for name, command in commands.items() if not command.help or command.name != name] == []
    assert commands["kb"] is commands["kb"]
    assert len(commands) == len(onym_app.MODULES)
