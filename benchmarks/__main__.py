"""Run a benchmark and print its figures as one line of JSON: `python -m benchmarks NAME [options]`.

Without options a benchmark runs at full size; `--quick` runs a small size, for use after every change. `python -m benchmarks
--list` prints the names of all benchmarks, and `--list FOLDER` those of the benchmarks in a folder.

A benchmark is a module in `benchmarks` or `tests/robustness` with `run(options) -> figures` and, if it has options,
`add_options(parser)`; it is named after its file. If a figure is above the module's `UPPER_BOUNDS` or below its `LOWER_BOUNDS`,
the benchmark prints the figures and fails. `FULL_BOUNDS` (upper) and `FULL_LOWER_BOUNDS` are checked only without `--quick`;
they are for times, which small runs on a busy machine cannot measure reliably.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.report import machine, versions

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "tests/robustness")
_RUN = re.compile(r"^def run\(_?options: argparse\.Namespace", re.MULTILINE)


def find_benchmarks() -> dict[str, str]:
    """Return the modules of all benchmarks by name, sorted."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return dict(sorted((name_of(path), _module_of(path)) for path in paths if is_benchmark(path)))


def name_of(path: Path) -> str:
    """Return the name of a benchmark: its file name without a trailing underscore (`import_.py`), with hyphens."""
    return path.stem.rstrip("_").replace("_", "-")


def is_benchmark(path: Path) -> bool:
    """Return whether a module defines `run`."""
    return bool(_RUN.search(path.read_text("utf-8")))


def _module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def main(arguments: list[str]) -> int:
    found = find_benchmarks()
    if arguments[:1] == ["--list"]:
        folder = (arguments[1:] or [""])[0].strip("/").replace("/", ".")
        print("\n".join(name for name, module in found.items() if module.startswith(folder)))
        return 0
    if not arguments or arguments[0] not in found:
        print(f"python -m benchmarks NAME [options]; NAME is one of {', '.join(found)}", file=sys.stderr)
        return 0 if arguments[:1] == ["--help"] else 2
    name, module = arguments[0], import_module(found[arguments[0]])
    options = _parser(name, module).parse_args(arguments[1:])
    figures = module.run(options)
    print(json.dumps({"benchmark": name, "figures": figures, "machine": machine(), "versions": versions()}))
    missed = find_missed_bounds(module, figures, is_quick=options.quick)
    print("".join(f"{each}\n" for each in missed), end="", file=sys.stderr)
    return 1 if missed else 0


def _parser(name: str, module: ModuleType) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {name}", description=module.__doc__)
    parser.add_argument("--quick", action="store_true", help="run at a small size, for use after every change")
    getattr(module, "add_options", lambda _: None)(parser)
    return parser


def find_missed_bounds(module: ModuleType, figures: Mapping[str, Any], *, is_quick: bool) -> list[str]:
    """Return the bounds that the figures violate."""
    lower, upper = dict(getattr(module, "LOWER_BOUNDS", {})), dict(getattr(module, "UPPER_BOUNDS", {}))
    if not is_quick:
        lower |= getattr(module, "FULL_LOWER_BOUNDS", {})
        upper |= getattr(module, "FULL_BOUNDS", {})
    missed = [f"{key} was not measured" for key in {*lower, *upper} if key in figures and figures[key] is None]
    known = {key: value for key, value in figures.items() if value is not None}
    missed += [f"{key} is over {bound}" for key, bound in upper.items() if known.get(key, bound) > bound]
    return missed + [f"{key} is under {bound}" for key, bound in lower.items() if known.get(key, bound) < bound]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
