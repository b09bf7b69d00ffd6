"""`onym batch run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onym.cli.batch._shown import OUT, leave, show
from onym.cli.console import JSON, progress


def command(
    out: OUT,
    engine: Annotated[str, typer.Option(help="local: processes of this machine; ray: a Ray cluster.")] = "local",
    address: Annotated[
        str, typer.Option(help="Ray cluster, such as auto or head:6379; by default one is started on this machine.")
    ] = "",
    workers: Annotated[int | None, typer.Option(min=1, max=4096, help="Worker processes; by default one per CPU.")] = None,
    part: Annotated[str, typer.Option(metavar="I/N", help="Link only this part of the shards, for job arrays: 3/8.")] = "",
    pipeline: Annotated[
        Path | None, typer.Option(help="Where the pipeline of the plan is on this machine, if it is elsewhere.")
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Link the shards that are not done yet. Stop and start it at will; exit status 5 if anything could not be read or linked.

    Example: onym batch run linked --workers 8
    """
    from onym.batch.ledger import status
    from onym.batch.run import run_batch
    from onym.cli.console import shown_on

    before = status(out)
    with progress("linking", total=len(before.open_shards)) as bar:
        ledger = run_batch(
            out, engine=engine, address=address, workers=workers, part=part, pipeline=pipeline, progress=shown_on(bar)
        )
    show(ledger, json=json)
    leave(ledger)
