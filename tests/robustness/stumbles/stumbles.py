"""Repeat every command that once failed a user, and check that it works.

stumbles    number of commands
failing     commands that still fail
rows        for each command: its name, the command line, and what happens now
"""

from __future__ import annotations

import argparse
import tempfile
import traceback
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from tests.robustness.stumbles.rows import ROWS, Scene, Stumble

UPPER_BOUNDS = MappingProxyType({"failing": 0})


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", help="run rows whose name contains this")


def run(options: argparse.Namespace) -> dict[str, object]:
    return repeat_rows(row for row in find_rows() if not options.only or options.only in row.name)


def repeat_rows(rows: Iterable[Stumble]) -> dict[str, object]:
    """Run the checks of rows, and return the figures."""
    results = [_repeat(row) for row in rows]
    return {"stumbles": len(results), "failing": sum(not row["works"] for row in results), "rows": results}


def find_rows() -> list[Stumble]:
    """Return the rows of all modules of this folder whose name starts with `of_`."""
    for path in sorted(Path(__file__).parent.glob("of_*.py")):
        import_module(f"{__package__}.{path.stem}")
    return list(ROWS)


def _repeat(row: Stumble) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            works, result = True, row.check(Scene(Path(folder)))
        except Exception:  # AssertionError if the command still fails; any other error also counts as failing
            works, result = False, traceback.format_exc(limit=-2)
    return {"stumble": row.name, "command": row.command, "works": works, "result": result}
