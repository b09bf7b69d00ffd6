"""Command help: `--help` shows the common options, `--help-all` shows every option with its full description.

Mark an uncommon option with a panel: `typer.Option(..., rich_help_panel=MORE)`. A command with few options always shows all.
Examples in the docstring (`Example: onym ...`) are printed at the end.
"""

from __future__ import annotations

import re
from copy import copy
from typing import Any

from typer.core import TyperCommand

from onym.cli.distinct import require_distinct_outputs

MORE, EXPORT = "More options", "Options for FHIR and OMOP"
"""Titles of the panels of uncommon options."""
_ALL = "--help-all"
_FEW = 20  # commands with at most this many parameters show all of them in `--help`
_EXAMPLE = "Example: "
_NEXT_SENTENCE = re.compile(r"(?<=[a-z)]{2}\.) ")


class HelpCommand(TyperCommand):
    """A command with `--help` and `--help-all`, whose outputs are none of its inputs."""

    _shows_all = False

    def get_help_option_names(self, ctx: Any) -> list[str]:  # noqa: ARG002 - of the base class
        """Return both names of the help option."""
        return ["--help", _ALL]

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Parse the arguments, and remember whether they contain `--help-all`."""
        self._shows_all = _ALL in args
        return super().make_context(info_name, args, *rest, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, unless an output would replace an input or another output."""
        require_distinct_outputs(ctx)
        return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: description, options, examples, and how to show the hidden options."""
        shown = copy(self)
        what, *examples = (self.help or "").split(_EXAMPLE)
        shown.help, notes = what.strip(), [f"{_EXAMPLE}{' '.join(each.split())}" for each in examples]
        if not self._shows_all and (common := _choose_common(self.params)):
            notes.append(f"\n{len(self.params) - len(common)} more options, and full descriptions: {ctx.command_path} {_ALL}")
            shown.params, shown.add_help_option = [_shorten(each) for each in common], False
        shown.epilog = "\n".join(notes)
        super(HelpCommand, shown).format_help(ctx, formatter)


def _choose_common(params: list[Any]) -> list[Any]:
    """Return the arguments and common options; empty if the command has few options, so that all are shown."""
    common = [each for each in params if not getattr(each, "rich_help_panel", None)]
    return common if _FEW < len(params) > len(common) else []


def _shorten(param: Any) -> Any:
    """Return a copy of an option with only the first sentence of its description, without value type and range."""
    short = copy(param)
    short.help = _NEXT_SENTENCE.split(param.help or "")[0]
    if param.param_type_name == "option":
        short.metavar, short.min, short.max = "" if param.is_flag else "VALUE", None, None
        if param.secondary_opts:  # show the name that changes the default
            names = param.opts if param.default is False else param.secondary_opts
            short.opts, short.secondary_opts = names, []
    return short
