"""What a knowledge base knows of a gold mention: whether its concepts are there, and whether it is one of their names."""

from __future__ import annotations

from onym.kb import KnowledgeBase
from onym.types import Mention


class Reach:
    """Gold mentions against a knowledge base. Ids and names recur: what they lead to is remembered.

    >>> reach = Reach(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> mention = Mention(0, 8, "pyrexias", ("mesh:D005334",))
    >>> reach.is_reachable(mention), reach.is_named(mention)
    (True, False)
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self._ids: dict[str, frozenset[int]] = {}
        self._names: dict[str, frozenset[int]] = {}

    def is_reachable(self, mention: Mention) -> bool:
        """Tell whether all gold ids lead to a concept."""
        return all(self._claimed(concept_id) for concept_id in mention.concept_ids)

    def is_named(self, mention: Mention) -> bool:
        """Tell whether the normalised surface is a name of a gold concept, or of one that has a gold id besides its own."""
        named = self._names.get(mention.surface)
        if named is None:
            named = self._names[mention.surface] = frozenset(self.kb.concepts_named(mention.surface))
        return any(named & self._claimed(concept_id) for concept_id in mention.concept_ids)

    def _claimed(self, concept_id: str) -> frozenset[int]:
        found = self._ids.get(concept_id)
        if found is None:
            found = self._ids[concept_id] = frozenset(self.kb.concepts_with_id(concept_id))
        return found
