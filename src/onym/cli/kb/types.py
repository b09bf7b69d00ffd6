"""`onym kb types`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, write_json, write_lines


def command(folder: Annotated[Path, typer.Argument(help="A knowledge base.")], json: Annotated[bool, JSON] = False) -> None:
    """List the semantic groups and types with their numbers of concepts; `--types` takes both.

    Example: onym kb types hpo-kb
    """
    from onym.kb import KnowledgeBase
    from onym.kb.export import type_frame

    rows = type_frame(KnowledgeBase.open(folder))
    if json:
        write_json(rows.to_dicts())
    else:
        write_lines([(level, name, f"{concepts:,}") for level, name, concepts in rows.iter_rows()])
