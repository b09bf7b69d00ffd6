"""Knowledge bases: readers of terminology releases, the build, and the artefact that every linker opens.

The build counts every row it drops, by reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy
from onym.kb.knowledge_base import KnowledgeBase

if TYPE_CHECKING:
    from onym.kb.build import build_kb
    from onym.kb.check import check_kb
    from onym.kb.export import export_kb
    from onym.kb.ranking import ConceptMask, concepts_of_types, concepts_with_ids, rank_concepts
    from onym.kb.recipe import Recipe, SourceConfig
    from onym.kb.schema import Rows

__all__ = [
    "ConceptMask",
    "KnowledgeBase",
    "Recipe",
    "Rows",
    "SourceConfig",
    "build_kb",
    "check_kb",
    "concepts_of_types",
    "concepts_with_ids",
    "export_kb",
    "rank_concepts",
]
__getattr__ = lazy(
    __name__,
    {
        "ConceptMask": "onym.kb.ranking",
        "Recipe": "onym.kb.recipe",
        "Rows": "onym.kb.schema",
        "SourceConfig": "onym.kb.recipe",
        "build_kb": "onym.kb.build",
        "check_kb": "onym.kb.check",
        "concepts_of_types": "onym.kb.ranking",
        "concepts_with_ids": "onym.kb.ranking",
        "export_kb": "onym.kb.export",
        "rank_concepts": "onym.kb.ranking",
    },
)
