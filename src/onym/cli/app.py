"""The `onym` command group. The module of a subcommand is imported when it is called or its help is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from onym.cli.console import write_plain

HELP = (
    "Biomedical entity linking: find diseases, drugs, phenotypes and other concepts in text and map them to MeSH, UMLS, "
    "SNOMED CT, HPO or your own ids."
)
GROUPS = {
    "Link": {"link": "link", "map": "map", "explain": "explain", "show": "explain", "serve": "serve", "mcp": "serve"},
    "Set up": {"get": "get", "kb": "kb", "pipeline": "pipeline", "pack": "pack", "info": "get"},
    "Train, score": {
        "train": "train",
        "evaluate": "evaluate",
        "compare": "evaluate",
        "calibrate": "evaluate",
        "dataset": "dataset",
    },
    "Scale": {"batch": "batch"},
    "Curate": {"review": "review", "audit": "audit", "migrate": "migrate"},
}
"""Commands of the first page of the help by group, each with the module of `onym.cli` that defines it."""
ADVANCED = {"corpus": "corpus", "index": "index", "trie": "trie", "model": "model", "plot": "plot"}
"""Commands that few people need, each with its module; `onym advanced` lists them."""
_ALL = {**GROUPS, "Advanced": {**ADVANCED, "advanced": "advanced"}}
MODULES = {name: module for commands in _ALL.values() for name, module in commands.items()}
_PANELS = {name: group for group, commands in _ALL.items() for name in commands}
_NOTES = (
    f"More: onym advanced ({', '.join(ADVANCED)})",
    "Help: onym COMMAND --help, or onym --help-all for all commands at once",
    'Example: onym link "Patients with breast cancer (BC) and type 2 diabetes"',
)


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
            self._made[name].rich_help_panel = _PANELS[name]
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

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the names of the commands by group, without importing their modules."""
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(HELP)
        formatter.write_paragraph()
        formatter.write_dl([(group, "  ".join(commands)) for group, commands in GROUPS.items()])
        formatter.write_paragraph()
        for note in _NOTES:
            formatter.write_text(note)

    def print_full_help(self, context: typer.Context) -> None:
        """Print all options and commands with their descriptions."""
        super().format_help(context, context.make_formatter())


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


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        cast("LazyGroup", context.command).print_full_help(context)
        raise typer.Exit


@app.callback(help=HELP)
def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of errors. It may contain document text.")
    ] = False,
    help_all: Annotated[
        bool,
        typer.Option("--help-all", is_eager=True, callback=_show_all, help="Show all commands with a description, and exit."),
    ] = False,
) -> None:
    """Run with --help to list the commands."""
