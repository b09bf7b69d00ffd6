"""The `onym` command: all commands under their names."""

from __future__ import annotations

from typing import Annotated

import typer

from onym.cli import (
    batch,
    calibrate,
    compare,
    corpus,
    dataset,
    evaluate,
    explain,
    get,
    index,
    info,
    kb,
    link,
    mcp,
    model,
    pack,
    pipeline,
    plot,
    serve,
    show,
    train,
    trie,
)
from onym.cli import map as map_
from onym.cli.console import write_plain
from onym.cli.options import WithLinker

HELP = (
    "Biomedical entity linking: find diseases, drugs, phenotypes and other concepts in text and map them to MeSH, UMLS, "
    "SNOMED CT, HPO or your own ids."
)
app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(kb.app, name="kb")
app.add_typer(corpus.app, name="corpus")
app.add_typer(dataset.app, name="dataset")
app.add_typer(trie.app, name="trie")
app.add_typer(index.app, name="index")
app.add_typer(model.app, name="model")
app.add_typer(train.app, name="train")
app.add_typer(plot.app, name="plot")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(pack.app, name="pack")
app.add_typer(batch.app, name="batch")
app.command(name="link", cls=WithLinker)(link.command)
app.command(name="map", cls=WithLinker)(map_.command)
app.command(name="explain")(explain.command)
app.command(name="mcp")(mcp.command)
app.command(name="serve")(serve.command)
app.command(name="show")(show.command)
app.command(name="evaluate", cls=WithLinker)(evaluate.command)
app.command(name="compare")(compare.command)
app.command(name="calibrate")(calibrate.command)
app.command(name="get")(get.command)
app.command(name="info")(info.command)


def _show_version(wanted: bool) -> None:
    if wanted:
        from onym._version import __version__

        write_plain(__version__)
        raise typer.Exit


@app.callback(help=HELP)
def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an unexpected error was raised. It may show text of documents.")
    ] = False,
) -> None:
    """Run with --help for the commands."""
