"""`onym batch status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from onym.cli.batch._shown import OUT, show
from onym.cli.console import JSON, progress

if TYPE_CHECKING:
    from onym.batch.ledger import Ledger


def command(
    out: OUT,
    live: Annotated[bool, typer.Option("--live", help="Follow a run to its end, with rate and time left.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show how much of a run is done, and the problems so far; it may be running anywhere.

    Example: onym batch status linked --live
    """
    from onym.batch.ledger import status

    ledger = _followed(out) if live else status(out)
    show(ledger, json=json)
    if not ledger.is_done:
        raise typer.Exit(5)


def _followed(out: str) -> Ledger:
    """Show what is done until nothing is left, and return the last state."""
    from onym.batch.ledger import watch

    looks = watch(out)
    look = next(looks)
    with progress("linked", total=len(look.ledger.plan.shards)) as bar:
        bar.update(bar.task_ids[0], completed=len(look.ledger.receipts))
        for look in looks:
            bar.update(bar.task_ids[0], description=look.description, completed=len(look.ledger.receipts))
    return look.ledger
