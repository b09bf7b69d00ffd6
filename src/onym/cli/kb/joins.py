"""`onym kb joins`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, stderr, write_json, write_lines


def command(folder: Annotated[Path, typer.Argument(help="A knowledge base.")], json: Annotated[bool, JSON] = False) -> None:
    """List the concepts that were joined with another one, with the rule; the counts go to stderr.

    To undo a join, add the first id to `undo` under `[joins]` in the recipe.

    Example: onym kb joins open-kb > joins.txt
    """
    from onym.kb import KnowledgeBase
    from onym.kb.export import join_frame

    rows = join_frame(KnowledgeBase.open(folder))
    counts = dict(rows["rule"].value_counts().sort("rule").iter_rows())
    if json:
        write_json({"counts": counts, "joins": rows.to_dicts()})
        return
    stderr().print(", ".join(f"{rule} {count:,}" for rule, count in counts.items()) or "no joins", soft_wrap=True)
    write_lines(list(rows.iter_rows()))
