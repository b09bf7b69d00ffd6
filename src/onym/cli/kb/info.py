"""`onym kb info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.console import JSON, write_json, write_lines


def command(folder: Annotated[Path, typer.Argument(help="A knowledge base.")], json: Annotated[bool, JSON] = False) -> None:
    """Show the contents and the sources of a knowledge base, and what the build dropped.

    Example: onym kb info hpo-kb
    """
    from onym.kb import KnowledgeBase

    kb = KnowledgeBase.open(folder)
    manifest, report = kb.manifest, kb.report()
    if json:
        write_json({"digest": kb.digest, **manifest.model_dump(mode="json", exclude={"files"}), **report})
        return
    write_lines(
        [("digest", kb.digest)]
        + [(name, f"{count:,}") for name, count in manifest.counts.items()]
        + [("input", f"{entry.name} ({entry.bytes:,} bytes, sha256 {entry.sha256[:16]})") for entry in manifest.inputs]
        + [("dropped", f"{reason}: {count:,}") for reason, count in report["dropped"].items()]
        + [("decided", f"{reason}: {count:,}") for reason, count in report["decided"].items()]
    )
