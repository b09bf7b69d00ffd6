"""Writes the commands and options of docs/reference/cli.md from the command line itself: `python docs/cli_page.py`.

Prose after the table of a section is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from onym.cli.app import app

PAGE = Path(__file__).parent / "reference" / "cli.md"
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_TABLE = ("| argument or option | meaning |", "|---|---|")


def commands(command: Any = None, path: str = "onym") -> Iterator[tuple[str, Any]]:
    """Yield every command with its words."""
    command = command or get_command(app)
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{path} {name}")


def page_with_commands(page: str) -> str:
    """Return the page with the sections of all commands, in their order, each with the prose that it had."""
    head, *rest = _SECTION.split(page)
    prose = {name: _prose(text) for name, text in zip(rest[::2], rest[1::2], strict=True)}
    sections = [_section(path, command, prose.get(path, "")) for path, command in commands()]
    return head.rstrip("\n") + "\n\n" + "\n\n".join(sections) + "\n"


def _section(path: str, command: Any, prose: str) -> str:
    what, *examples = " ".join((command.help or "").split()).split(" Example: ")
    rows = [row for param in command.params if (row := _row(param))]
    table = "\n".join((*_TABLE, *rows)) if rows else ""
    shown = "\n".join(f"`{example}`<br>" for example in examples).removesuffix("<br>")
    return "\n\n".join(filter(None, (f"## {path}", what, shown, table, prose)))


def _row(param: Any) -> str:
    names = [param.name.upper()] if param.param_type_name == "argument" else [*param.opts, *param.secondary_opts]
    needed = "; needed" if param.required and param.param_type_name == "option" else ""
    default = param.default if isinstance(param.default, str | int | float) and not isinstance(param.default, bool) else None
    shown_default = f"; by default `{default}`" if default not in (None, "") and not param.required else ""
    text = (getattr(param, "help", "") or "").rstrip(".").replace("|", "\\|")
    return f"| {', '.join(f'`{name}`' for name in names)} | {text}{needed}{shown_default} |"


def _prose(section: str) -> str:
    """Return the prose after the table of a section, or, without one, after its examples or its first paragraph."""
    blocks = [block for block in section.strip("\n").split("\n\n") if block.strip()]
    tables = [number for number, block in enumerate(blocks) if block.startswith("| ")]
    examples = [number for number, block in enumerate(blocks[:3]) if block.startswith("`onym")]
    first = (tables or examples or [0])[0]
    return "\n\n".join(blocks[first + 1 :])


if __name__ == "__main__":
    PAGE.write_text(page_with_commands(PAGE.read_text("utf-8")), "utf-8")
