"""`onym train`: teach a seq2seq model to write the names of a knowledge base."""

import typer

from onym.cli.train import finetune, prefer, presets, pretrain

app = typer.Typer(help="Teach a seq2seq model to write the names of a knowledge base.", no_args_is_help=True)
for module in (pretrain, finetune, prefer, presets):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
