"""Onym: from what a biomedical text says to the one concept identifier it means.

>>> import onym
>>> "KnowledgeBase" in dir(onym)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onym._version import __version__ as __version__
from onym.errors import ConfigError, InputError, IntegrityError, LimitError, OnymError
from onym.types import Candidate, Concept, Document, Link, Mention, Name, NameKind

if TYPE_CHECKING:
    from onym.kb import KnowledgeBase
    from onym.kb.build import build_kb
    from onym.kb.recipe import Recipe
    from onym.pipeline import Pipeline, load

__all__ = [
    "Candidate",
    "Concept",
    "ConfigError",
    "Document",
    "InputError",
    "IntegrityError",
    "KnowledgeBase",
    "LimitError",
    "Link",
    "Mention",
    "Name",
    "NameKind",
    "OnymError",
    "Pipeline",
    "Recipe",
    "build_kb",
    "load",
]
_LAZY = {
    "KnowledgeBase": "onym.kb",
    "Pipeline": "onym.pipeline",
    "Recipe": "onym.kb.recipe",
    "build_kb": "onym.kb.build",
    "load": "onym.pipeline",
}


def __getattr__(name: str) -> Any:
    """Import the heavier parts when they are first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module 'onym' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
