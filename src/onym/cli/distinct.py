"""Rejects commands whose output is one of their inputs or another output: `--force` would replace it before it is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

OUTPUTS = frozenset({"output", "report", "save", "problems", "audit", "note_keys", "disagreements"})
"""Names of the parameters that are written. `onym pipeline build` writes into a `folder`, which may hold its inputs."""
_INPUTS = frozenset({"documents"})  # options that are read as paths, but declared as strings, because some are addresses
_NAMES = frozenset({"what"})  # arguments that are names of datasets; `onym dataset prepare s800 -o s800` is usual
_STREAM = "-"


def require_distinct_outputs(ctx: Any) -> None:
    """Raise ConfigError if an output of a command is also an input or another output, under any name."""
    outputs = [path for name in OUTPUTS for path in _paths_in(ctx.params.get(name))]
    if outputs:
        from onym.store.output import require_distinct

        require_distinct(outputs, _iter_inputs(ctx))


def _iter_inputs(ctx: Any) -> Iterator[Path]:
    """Yield the paths among the values of the other parameters: of any argument, and of options that are paths."""
    arguments = {each.name for each in ctx.command.params if each.param_type_name == "argument"}
    for name, value in ctx.params.items():
        if name not in OUTPUTS | _NAMES:
            is_path = name in arguments or name in _INPUTS
            yield from _paths_in(value, is_path=is_path)


def _paths_in(value: Any, *, is_path: bool = True) -> Iterator[Path]:
    values = value if isinstance(value, list | tuple) else [value]
    for each in values:
        if (isinstance(each, Path) or (is_path and isinstance(each, str))) and str(each) != _STREAM:
            yield Path(each)
