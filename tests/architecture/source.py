"""Size and shape of the source: lines, functions, annotations, public names, and the files that `onym link` runs."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.architecture.imports import Source

SHORT = 60  # lines
TEXT = "Type 2 diabetes mellitus (T2DM) was diagnosed; no T2DM and no myocardial infarction in the family."
Function = ast.FunctionDef | ast.AsyncFunctionDef

# Runs in a subprocess; prints the files whose functions ran, in all threads, and the number of imported modules.
_TRACE = """
import inspect, json, os, sys, threading
files = set()
def note(frame, event, _):
    if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # functions, not bodies of modules and classes
        files.add(frame.f_code.co_filename)
threading.setprofile(note)
sys.setprofile(note)
from onym.cli import main
try:
    main()
finally:
    sys.setprofile(None)
    root = os.path.dirname(sys.modules["onym"].__file__)
    own = sorted(os.path.relpath(file, root) for file in files if file.startswith(root + os.sep))
    modules = sorted(name for name in sys.modules if name.partition(".")[0] == "onym")
    print(json.dumps({"files": own, "modules": modules}), file=sys.__stderr__)
"""


def count_lines(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def size_figures(source: Source) -> dict[str, object]:
    """Return the numbers of files and lines, the shares of short modules and import lines, and the length of functions."""
    lines = {module: count_lines([path]) for module, path in source.files.items()}
    modules = [module for module in lines if not source.is_package(module)]
    nodes = [node for tree in source.trees.values() for node in ast.walk(tree)]
    imports = sum(_length(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    functions = sorted(_length(node) - _docstring_length(node) for node in nodes if isinstance(node, Function))
    return {
        "files": len(lines),
        "lines": sum(lines.values()),
        "under_60_lines_pct": percent(sum(lines[module] < SHORT for module in modules), len(modules)),
        "import_lines_pct": percent(imports, sum(lines.values())),
        "function_p90": functions[len(functions) * 9 // 10],
    }


def percent(part: int, whole: int) -> float:
    return round(100 * part / max(whole, 1), 1)


def _length(node: Any) -> int:
    return int(node.end_lineno - node.lineno + 1)


def _docstring_length(node: Function) -> int:
    return _length(node.body[0]) if ast.get_docstring(node, clean=False) is not None else 0


def find_untyped_public(source: Source) -> list[str]:
    """Return the public functions and methods that lack an annotation of a parameter or the return value."""
    return [
        f"{source.path(module)}:{function.lineno}: {function.name}"
        for module, tree in source.trees.items()
        for function in _public(tree.body)
        if function.returns is None or any(each.annotation is None for each in _parameters(function))
    ]


def _public(body: list[ast.stmt]) -> Iterator[Function]:
    for node in body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public(node.body)


def _parameters(function: Function) -> list[ast.arg]:
    own = function.args
    found = [*own.posonlyargs, *own.args, *own.kwonlyargs, *filter(None, (own.vararg, own.kwarg))]
    return found[1:] if found and found[0].arg in ("self", "cls") else found


def link_text() -> dict[str, list[str]]:
    """Return the files whose functions `onym link TEXT` runs with the starter, and the modules that the command imports."""
    command = [sys.executable, "-c", _TRACE, "link", TEXT]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"onym link ended with {done.returncode}: {done.stderr[-2000:]}")
    found: dict[str, list[str]] = json.loads(done.stderr.splitlines()[-1])
    return found


def count_help_lines(command: str) -> int:
    """Return the number of lines of a command's help at 80 columns."""
    words = [sys.executable, "-m", "onym", *command.split(), "--help"]
    done = subprocess.run(words, env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True)
    return len(done.stdout.splitlines())


def find_documented(page: Path, names: Iterable[str]) -> list[str]:
    """Return the names that have a heading or a table row on a page.

    A heading may have several names: `## KnowledgeBase, build_kb`. A row has one name in backticks, with or without `onym.`.
    """
    text = page.read_text("utf-8")
    headings = " ".join(re.findall(r"(?m)^#+ (.*)$", text))
    rows = " ".join(re.findall(r"(?m)^\| *(`[^|]*`) *\|", text))
    return [name for name in names if re.search(rf"(?<![\w.])(?:onym\.)?{re.escape(name)}(?!\w)", f"{headings} {rows}")]
