"""`onym train`: train generative linkers, encoders of names, and collective models."""

import typer

from onym.cli.train import align, collective, finetune, match, prefer, presets, pretrain

app = typer.Typer(
    help="Train a generative linker, an encoder for the dense linker, or a model that detects and links whole documents.",
    no_args_is_help=True,
)
for module in (pretrain, finetune, prefer, align, match, collective, presets):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
