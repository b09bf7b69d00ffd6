"""`onym batch verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from onym.cli.batch._shown import OUT
from onym.cli.console import JSON, progress, shown_on, write_json, write_lines
from onym.cli.corpus._items import tell


def command(
    out: OUT,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Read the whole output and compare it with the checksums in its footers. Exit status 4 if anything is missing or changed.

    Example: onym batch verify linked
    """
    from onym.batch.ledger import status, verify

    with progress("checking", total=len(status(out).plan.shards)) as bar:
        faults = verify(out, shown_on(bar))
    if json:
        write_json({"faults": [{"shard": fault.shard, "what": fault.what} for fault in faults]})
    else:
        write_lines([("faults", f"{len(faults):,}")])
        for fault in faults:
            tell(f"{fault.shard}: {fault.what}")
    if faults:
        raise typer.Exit(4)
