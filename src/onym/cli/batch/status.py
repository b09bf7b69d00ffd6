"""`onym batch status`."""

from __future__ import annotations

from typing import Annotated

import typer

from onym.cli.batch._shown import OUT, show
from onym.cli.console import JSON


def command(
    out: OUT,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show how much of a run is done, and the problems so far; it may be running anywhere.

    Example: onym batch status linked
    """
    from onym.batch.ledger import status

    ledger = status(out)
    show(ledger, json=json)
    if not ledger.is_done:
        raise typer.Exit(5)
