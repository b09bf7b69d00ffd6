"""The `onym` command group. The module of a subcommand is imported when it is called or its help is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from onym.cli.console import write_plain

HELP = (
    "Biomedical entity linking: find diseases, drugs, phenotypes and other concepts in text and map them to MeSH, UMLS, "
    "SNOMED CT, HPO or your own ids."
)
MODULES = {
    "link": "link",
    "map": "map",
    "explain": "explain",
    "mcp": "serve",
    "serve": "serve",
    "show": "explain",
    "evaluate": "evaluate",
    "compare": "evaluate",
    "calibrate": "evaluate",
    "get": "get",
    "info": "get",
    "kb": "kb",
    "corpus": "corpus",
    "dataset": "dataset",
    "trie": "trie",
    "index": "index",
    "model": "model",
    "train": "train",
    "plot": "plot",
    "pipeline": "pipeline",
    "pack": "pack",
    "batch": "batch",
    "review": "review",
    "audit": "audit",
    "migrate": "migrate",
}
"""Module of `onym.cli` that defines each command or command group, in the order of the help."""


class Commands(Mapping[str, Any]):
    """Lazy mapping from name to command: a command is created when it is first looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            own = import_module(f"onym.cli.{MODULES[name]}").app
            _add_help(own)
            group = get_group(own)
            self._made[name] = group.commands.get(name, group)  # the command of that name, or the whole group
            self._made[name].name = name
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


def _add_help(app: typer.Typer) -> None:
    """Add `--help-all` to all commands of an app."""
    from onym.cli.help import HelpCommand

    for command in app.registered_commands:
        command.cls = HelpCommand if command.cls is TyperCommand else command.cls
    for group in app.registered_groups:
        if group.typer_instance:
            _add_help(group.typer_instance)


class LazyGroup(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands()  # type: ignore[assignment]  # a read-only mapping is enough: typer adds no commands


app = typer.Typer(
    cls=LazyGroup,
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


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
        bool, typer.Option("--debug", help="Print the traceback of errors. It may contain document text.")
    ] = False,
) -> None:
    """Run with --help to list the commands."""
