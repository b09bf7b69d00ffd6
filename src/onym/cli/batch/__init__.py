"""`onym batch`: link large corpora in shards, by any number of processes and machines."""

import typer

from onym.cli.batch import compact, export, plan, run, status, verify

app = typer.Typer(
    help="Link large corpora in shards: resumable, exactly once, on one machine, in job arrays or on Ray.",
    no_args_is_help=True,
)
app.command(name="plan")(plan.command)
app.command(name="run")(run.command)
app.command(name="status")(status.command)
app.command(name="verify")(verify.command)
app.command(name="export")(export.command)
app.command(name="compact")(compact.command)
