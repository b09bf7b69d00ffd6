"""Lazy imports: the names of a package are imported on first access, so that `import onym` stays fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module-level `__getattr__` for `package`; `modules` maps each name to the module that defines it.

    >>> lazy("onym", {"KnowledgeBase": "onym.kb"})("KnowledgeBase").__name__
    'KnowledgeBase'
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return find
