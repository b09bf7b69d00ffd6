"""The floors of the house, and which imports go up: a room imports only rooms that are below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

# From the top to the ground; rooms on one line do not import each other. Some of them are still to come.
FLOORS = (
    ("testing",),
    ("cli",),
    ("serve", "integrations"),
    ("batch", "review", "train"),
    ("evaluate",),
    ("pipeline",),
    ("linkers",),
    ("calibrate", "detect", "decoding", "index"),
    ("encoders", "trie", "predictions", "datasets"),
    ("corpora",),
    ("kb",),
    ("text",),
    ("store",),
    ("workers",),
    ("registry",),
    ("types",),
    ("views",),
    ("errors",),
    ("_lazy", "_version"),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
ROOT_MODULES = ("__init__", "__main__")  # the front door: they may import any room


def room_of(module: Path, src: Path) -> str:
    """Return the room of a module: the first part of its path below `src`."""
    return module.relative_to(src).parts[0].removesuffix(".py")


def iter_imports(module: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted name of each import, also of those inside functions."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{module}:{node.lineno} is a relative import")
            yield node.lineno, node.module or ""
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def upward_imports(src: Path) -> list[str]:
    """Return the imports of a package `onym` at `src` that go up or sideways, each once."""
    return [found for module in sorted(src.rglob("*.py")) for found in _upward(module, src)]


def _upward(module: Path, src: Path) -> Iterator[str]:
    own = room_of(module, src)
    if own in ROOT_MODULES:
        return
    seen = set()
    for line, name in iter_imports(module):
        other = name.split(".")[1] if name.startswith("onym.") else ""
        if other in FLOOR and other != own and FLOOR[other] <= FLOOR[own] and (line, other) not in seen:
            seen.add((line, other))
            yield f"{module.relative_to(src).as_posix()}:{line}: {own} imports {other}"
