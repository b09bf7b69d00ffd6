"""`onym trie info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from onym.cli.console import JSON, write_json, write_lines


def command(
    folders: Annotated[list[Path], typer.Argument(help="Tries, or knowledge bases to list all tries stored with them.")],
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show the size and depth of a trie, and which knowledge base and tokenizer it was built from.

    Example: onym trie info hpo-kb
    """
    from onym.trie.info import info

    found = [described for folder in folders for described in info(folder)]
    if json:
        write_json(found)
    else:
        write_lines([row for described in found for row in _rows(described)])


def _rows(described: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what is told of a trie as lines; where names are counted by length, one line for each."""
    lengths = described["names_by_tokens"]
    rows = [
        (name.replace("_", " "), _shown(value)) for name, value in described.items() if isinstance(value, str | int | float)
    ]
    return rows + [("names", f"of {tokens} tokens: {count:,}") for tokens, count in lengths.items()]


def _shown(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:,}"
