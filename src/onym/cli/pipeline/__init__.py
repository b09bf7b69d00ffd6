"""`onym pipeline`: put a detector, a linker and a knowledge base together, and look at what is there."""

import typer

from onym.cli.options import WithLinkerAndDetector
from onym.cli.pipeline import build, info, tune

app = typer.Typer(help="Put a detector, a linker and a knowledge base together, for raw text.", no_args_is_help=True)
app.command(name="build", cls=WithLinkerAndDetector)(build.command)
app.command(name="info")(info.command)
app.command(name="tune")(tune.command)
