"""Print one benchmark's figures as one line of JSON: `python -m benchmarks NAME [options]`.

Without options a benchmark runs at full size; `--quick` is for every change. `python -m benchmarks --list` prints all names,
and `--list FOLDER` those of the modules below a folder.

A benchmark is a module below `benchmarks` or `tests/robustness` with `run(options) -> figures` and, where it has options of
its own, `add_options(parser)`; its name is that of the file. A module may have `UPPER_BOUNDS` of its figures, and
`LOWER_BOUNDS`: where one is more, or less, the benchmark fails, after it has printed them. `FULL_BOUNDS` are upper bounds too,
and `FULL_LOWER_BOUNDS` lower ones, of times, which `--quick` beside other work on any machine cannot judge.
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
    """Return the name of a benchmark; `import_.py` is `import`, which no module can be called."""
    return path.stem.rstrip("_").replace("_", "-")


def is_benchmark(path: Path) -> bool:
    """Tell whether a module has the `run` of a benchmark."""
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
    parser.add_argument("--quick", action="store_true", help="a small size, for every change")
    getattr(module, "add_options", lambda _: None)(parser)
    return parser


def find_missed_bounds(module: ModuleType, figures: Mapping[str, Any], *, is_quick: bool) -> list[str]:
    """Return which bounds of a benchmark its figures miss."""
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
