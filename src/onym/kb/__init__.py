"""Knowledge bases: readers of releases, the build that decides once, and the artefact that every linker opens.

May import: text, store, types, errors. Always true here: whatever is dropped is counted by its reason.
"""

from onym.kb.knowledge_base import KnowledgeBase

__all__ = ["KnowledgeBase"]
