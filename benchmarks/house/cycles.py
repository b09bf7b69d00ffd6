"""Modules that import each other in a circle when they are loaded."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

Graph = Mapping[str, set[str]]


def import_cycles(src: Path, package: str = "onym") -> list[list[str]]:
    """Return each circle of two or more modules. Imports inside functions and under TYPE_CHECKING load nothing at that moment.

    A package's `__init__` is a module like the others: importing `a.b` loads `a` first, but only what `a` itself imports makes
    a circle.
    """
    return [circle for circle in _components(_graph(src, package)) if len(circle) > 1]


def _graph(src: Path, package: str) -> Graph:
    modules = {_name(path, src, package): path for path in src.rglob("*.py")}
    return {name: set(_targets(path, modules)) - {name} for name, path in modules.items()}


def _name(path: Path, src: Path, package: str) -> str:
    parts = [package, *path.relative_to(src).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _targets(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in _loaded(ast.parse(path.read_text("utf-8")).body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"  # a module of the package, or else a name of its `__init__`
                yield inner if inner in modules else str(node.module)


def _loaded(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is loaded."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _loaded(node.orelse)
            continue
        yield node
        for inner in ("body", "orelse", "finalbody"):
            yield from _loaded(getattr(node, inner, []))
        yield from (each for handler in getattr(node, "handlers", []) for each in _loaded(handler.body))


def _components(graph: Graph) -> list[list[str]]:
    """Return the strongly connected components: modules that reach each other."""
    reached = {name: _reached(graph, name) for name in graph}
    seen: set[str] = set()
    found = []
    for name in sorted(graph):
        if name not in seen:
            found.append(sorted({name} | {other for other in reached[name] if name in reached[other]}))
            seen.update(found[-1])
    return found


def _reached(graph: Graph, start: str) -> set[str]:
    reached: set[str] = set()
    todo = [start]
    while todo:
        for name in graph[todo.pop()] - reached:
            reached.add(name)
            todo.append(name)
    return reached
