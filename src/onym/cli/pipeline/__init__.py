"""`onym pipeline`: put a detector, a linker and a knowledge base together, and look at what is there."""

import typer

from onym.cli.pipeline import build, info, tune

app = typer.Typer(help="Put a detector, a linker and a knowledge base together, for raw text.", no_args_is_help=True)
for module in (build, info, tune):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
