"""Names of a package that are imported when they are first asked for: `import onym` stays fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `modules` says in which module each name is.

    >>> lazy("onym", {"KnowledgeBase": "onym.kb"})("KnowledgeBase").__name__
    'KnowledgeBase'
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return find
