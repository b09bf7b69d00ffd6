"""The help of a command. `--help` shows the common options, `--help-all` shows every option with its full description.

An option that is not common has a panel: `typer.Option(..., rich_help_panel=MORE)`. A command with few options shows them all.
Examples of the docstring (`Example: onym ...`) are printed at the end.
"""

from __future__ import annotations

import re
from copy import copy
from typing import Any

from typer.core import TyperCommand

MORE, EXPORT = "More options", "Options for FHIR and OMOP"
"""Panels of options that are not common."""
_ALL = "--help-all"
_FEW = 20  # options that `--help` shows in any case
_EXAMPLE = "Example: "
_NEXT_SENTENCE = re.compile(r"(?<=[a-z)]{2}\.) ")


class HelpCommand(TyperCommand):
    """A command with `--help` and `--help-all`."""

    _shows_all = False

    def get_help_option_names(self, ctx: Any) -> list[str]:  # noqa: ARG002 - of the base class
        """Return both names of the help option."""
        return ["--help", _ALL]

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Parse the arguments, and note which help they ask for."""
        self._shows_all = _ALL in args
        return super().make_context(info_name, args, *rest, **extra)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: what the command does, its options, examples, and how to see the options that are left out."""
        shown = copy(self)
        what, *examples = (self.help or "").split(_EXAMPLE)
        shown.help, notes = what.strip(), [f"{_EXAMPLE}{' '.join(each.split())}" for each in examples]
        if not self._shows_all and (common := _choose_common(self.params)):
            notes.append(f"\n{len(self.params) - len(common)} more options, and full descriptions: {ctx.command_path} {_ALL}")
            shown.params, shown.add_help_option = [_shorten(each) for each in common], False
        shown.epilog = "\n".join(notes)
        super(HelpCommand, shown).format_help(ctx, formatter)


def _choose_common(params: list[Any]) -> list[Any]:
    """Return the arguments and common options of a command with many options; empty if all are to be shown."""
    common = [each for each in params if not getattr(each, "rich_help_panel", None)]
    return common if _FEW < len(params) > len(common) else []


def _shorten(param: Any) -> Any:
    """Return a copy of an option with the first sentence of its description, and without the type and range of its value."""
    short = copy(param)
    short.help = _NEXT_SENTENCE.split(param.help or "")[0]
    if param.param_type_name == "option":
        short.metavar, short.min, short.max = "" if param.is_flag else "VALUE", None, None
    return short
