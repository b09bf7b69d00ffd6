"""What a knowledge base covers of the gold mentions: their ids, and whether the surface is already a KB name."""

from __future__ import annotations

from onym.kb import KnowledgeBase
from onym.types import Mention


class KbCoverage:
    """Gold mentions against a knowledge base. Ids and surfaces repeat, so look-ups are cached.

    >>> coverage = KbCoverage(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> mention = Mention(0, 8, "pyrexias", ("mesh:D005334",))
    >>> coverage.is_in_kb(mention), coverage.is_kb_name(mention)
    (True, False)
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self._concepts_by_id: dict[str, frozenset[int]] = {}
        self._concepts_by_surface: dict[str, frozenset[int]] = {}

    def is_in_kb(self, mention: Mention) -> bool:
        """Return whether every gold id is in the KB."""
        return all(self._concepts_with_id(concept_id) for concept_id in mention.concept_ids)

    def is_kb_name(self, mention: Mention) -> bool:
        """Return whether the normalised surface is a name of a concept that has one of the gold ids."""
        named = self._concepts_by_surface.get(mention.surface)
        if named is None:
            named = self._concepts_by_surface[mention.surface] = frozenset(self.kb.concepts_named(mention.surface))
        return any(named & self._concepts_with_id(concept_id) for concept_id in mention.concept_ids)

    def _concepts_with_id(self, concept_id: str) -> frozenset[int]:
        concepts = self._concepts_by_id.get(concept_id)
        if concepts is None:
            concepts = self._concepts_by_id[concept_id] = frozenset(self.kb.concepts_with_id(concept_id))
        return concepts
