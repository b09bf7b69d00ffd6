"""Knowledge bases: readers of releases, the build that decides once, and the artefact that every linker opens.

May import: text, store, types, errors. Always true here: whatever is dropped is counted by its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy
from onym.kb.knowledge_base import KnowledgeBase

if TYPE_CHECKING:
    from onym.kb.build import build_kb
    from onym.kb.check import check_kb
    from onym.kb.export import export_kb
    from onym.kb.recipe import Recipe, SourceConfig

__all__ = ["KnowledgeBase", "Recipe", "SourceConfig", "build_kb", "check_kb", "export_kb"]
__getattr__ = lazy(
    __name__,
    {
        "Recipe": "onym.kb.recipe",
        "SourceConfig": "onym.kb.recipe",
        "build_kb": "onym.kb.build",
        "check_kb": "onym.kb.check",
        "export_kb": "onym.kb.export",
    },
)
