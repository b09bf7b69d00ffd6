"""The `onym` command, and how every error becomes a message and an exit status.

0 done · 1 a bug · 2 a wrong call · 3 bad input · 4 a damaged artefact · 5 something left out · 6 a limit · 130 interrupted
"""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from onym.cli import compare, corpus, dataset, evaluate, index, info, kb, link, model, pipeline, plot, train, trie
from onym.cli import map as map_
from onym.cli.console import stderr
from onym.cli.options import WithLinker
from onym.errors import InputError, OnymError

HELP = (
    "Biomedical entity linking: find diseases, drugs, phenotypes and other concepts in text and map them to MeSH, UMLS, "
    "SNOMED CT, HPO or your own ids."
)
app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
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
app.command(name="link", cls=WithLinker)(link.command)
app.command(name="map", cls=WithLinker)(map_.command)
app.command(name="evaluate", cls=WithLinker)(evaluate.command)
app.command(name="compare")(compare.command)
app.command(name="info")(info.command)


def _show_version(wanted: bool) -> None:
    if wanted:
        from onym._version import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback(help=HELP)
def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    """Run with --help for the commands."""


def main() -> None:
    """Run the command line."""
    try:
        app(standalone_mode=True)
    except OnymError as e:
        _print_error(e)
        sys.exit(e.exit_status)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has had enough
        sys.stderr.close()
        sys.exit(0)
    except OSError as e:  # a disk that fails can fail at any call; most of them have errors of their own
        refused = _of_system(e)
        _print_error(refused)
        sys.exit(refused.exit_status)


def _of_system(error: OSError) -> InputError:
    what, where = f"the operating system refused: {error.strerror or type(error).__name__}", str(error.filename or "")
    fix = "check the disk, its free space and your permissions; the output is as it was, or complete"
    return InputError("system-refused", what, where=where, fix=fix)


def _print_error(error: OnymError) -> None:
    if "--json" in sys.argv:
        typer.echo(json.dumps({"error": error.as_dict()}), err=True)
    else:
        stderr().print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
