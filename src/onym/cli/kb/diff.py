"""`onym kb diff`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, stderr, write_json, write_lines

_CHANGES = ("added", "removed", "renamed", "merged", "retired")


def command(
    old: Annotated[Path, typer.Argument(help="The older knowledge base.")],
    new: Annotated[Path, typer.Argument(help="The newer knowledge base.")],
    json: Annotated[bool, JSON] = False,
) -> None:
    """List the concepts that were added, removed, renamed, merged and retired; the counts go to stderr.

    Example: onym kb diff hpo-2025 hpo-2026 > changes.txt
    """
    from onym.kb import KnowledgeBase
    from onym.kb.diff import diff

    difference = diff(KnowledgeBase.open(old), KnowledgeBase.open(new))
    if json:
        write_json({"counts": difference.counts(), **{name: getattr(difference, name).to_dicts() for name in _CHANGES}})
        return
    stderr().print(
        ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in difference.counts().items()), soft_wrap=True
    )
    write_lines([(name, *(str(cell) for cell in row)) for name in _CHANGES for row in getattr(difference, name).iter_rows()])
