"""How the state of a run is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.console import write_json, write_lines
from onym.cli.corpus._items import FAILED, tell

if TYPE_CHECKING:
    from onym.batch.ledger import Ledger

OUT = Annotated[str, typer.Argument(metavar="OUT", help="Folder of the run, or its address, such as s3://bucket/run.")]
_BUG = 1
_BAR = 40


def show(ledger: Ledger, *, json: bool) -> None:
    """Print how much is done, and what was found."""
    counts = ledger.counts()
    if json:
        write_json(counts)
        return
    rows = [("shards", f"{_bar(counts['done'], counts['shards'])} {counts['done']:,} of {counts['shards']:,}")]
    rows += [(name, f"{counts[name]:,}") for name in ("documents", "mentions", "linked", "tied", "deleted") if counts[name]]
    rows += [(f"problem {code}", f"{count:,}") for code, count in counts["problems"].items()]
    rows += [("files ignored", f"{counts['files_ignored']:,}")] if counts["files_ignored"] else []
    write_lines(rows)
    for each in ledger.quarantined.values():
        tell(f"shard {each.shard:06d} was quarantined: {each.code}: {each.what}")
    for name in counts["files_failed"]:
        tell(f"{name} could not be read to its end")


def leave(ledger: Ledger) -> None:
    """Exit with a status that says whether anything was lost."""
    counts = ledger.counts()
    if counts["bugs"]:
        raise typer.Exit(_BUG)
    if ledger.quarantined or counts["problems"] or counts["files_failed"]:
        raise typer.Exit(FAILED)


def _bar(done: int, total: int) -> str:
    """Return a picture of how much is done.

    >>> _bar(1, 2)
    '[####################....................]'
    """
    filled = _BAR * done // total if total else 0
    return f"[{'#' * filled}{'.' * (_BAR - filled)}]"
