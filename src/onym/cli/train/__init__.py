"""`onym train`: teach a model the names of a knowledge base, to write them or to find the nearest."""

import typer

from onym.cli.train import align, finetune, match, prefer, presets, pretrain

app = typer.Typer(
    help="Teach a model the names of a knowledge base: to write them, or to find the nearest.", no_args_is_help=True
)
for module in (pretrain, finetune, prefer, align, match, presets):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
