"""`onym pipeline`: put a detector, a linker and a knowledge base together, and look at what is there."""

import typer

from onym.cli.options import WithLinkerAndDetector
from onym.cli.pipeline import build, info, tune

app = typer.Typer(
    help="Build, inspect and tune pipelines: a detector and a linker over a knowledge base, for raw text.", no_args_is_help=True
)
app.command(name="build", cls=WithLinkerAndDetector)(build.command)
app.command(name="info")(info.command)
app.command(name="tune")(tune.command)
