"""`onym train`: teach a model the names of a knowledge base, to write them or to find the nearest, and where mentions are."""

import typer

from onym.cli.train import align, collective, finetune, match, prefer, presets, pretrain

app = typer.Typer(
    help="Teach a model the names of a knowledge base: to write them, to find the nearest, or to see them in documents.",
    no_args_is_help=True,
)
for module in (pretrain, finetune, prefer, align, match, collective, presets):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
