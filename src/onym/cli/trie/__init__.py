"""`onym trie`: build the prefix tree over the names of a knowledge base, and look into it."""

import typer

from onym.cli.trie import build, info

app = typer.Typer(help="Build and inspect the prefix tree (trie) for the generative linker.", no_args_is_help=True)
for module in (build, info):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
