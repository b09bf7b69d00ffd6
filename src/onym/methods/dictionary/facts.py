"""What the knowledge base knows of a name, as features of the mention classifier.

These features say nothing of the name's letters, so what is learnt from annotated names holds for names that no corpus has: a
preferred name is more likely a mention than a related synonym, and *IMPACT* than *impact*.
"""

from __future__ import annotations

from functools import lru_cache

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask
from onym.methods.dictionary.classifier import Hints
from onym.text.normal import normal_name
from onym.types import NameKind

_CACHE_SIZE = 100_000  # names, and surfaces of names
_DEFINED = "name:defined"


class NameFacts:
    """Describes the names of a knowledge base; concepts that are not in `only` are ignored.

    >>> facts = NameFacts(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> facts.of(facts.kb.find("fever"), "Fever")
    ('name:kind=preferred', 'name:from=mesh', 'name:groups=Disease', 'name:names=2', 'name:case=as written')
    """

    def __init__(self, kb: KnowledgeBase, only: ConceptMask | None = None) -> None:
        self.kb, self._only = kb, only
        self._of_name = lru_cache(_CACHE_SIZE)(self._describe)
        self.of = lru_cache(_CACHE_SIZE)(self._describe_surface)

    def of_defined(self, name: int) -> Hints:
        """Return the features of an abbreviation that the text defines as a name."""
        return (*self._of_name(name)[0], _DEFINED)

    def _describe_surface(self, name: int, surface: str) -> Hints:
        """Return the features of a name that is written as `surface`."""
        facts, forms = self._of_name(name)
        return (*facts, f"name:case={self._compare(name, surface, forms)}")

    def _describe(self, name: int) -> tuple[Hints, frozenset[str]]:
        """Return the features of a name that do not depend on the text, and its original spellings."""
        kb, fewest = self.kb, 1_000
        kinds: list[int] = []
        vocabularies: set[str] = set()
        groups: set[str] = set()
        forms: set[str] = set()
        for concept in kb.name_concepts[name].tolist():
            if self._only is None or self._only[concept]:
                kinds.append(kb.kind_and_source(concept, name)[0])
                vocabularies.add(kb.concept_ids[concept].partition(":")[0])
                groups.add(kb.label_of(concept)[1])
                first = int(kb.concept_terms[concept])
                own = kb.names_of(concept)
                fewest = min(fewest, len(own))
                forms.update(kb.term_forms[first + row] for row in (own == name).nonzero()[0].tolist())
        kind = NameKind(min(kinds)).name.lower() if kinds else ""
        facts = (
            f"name:kind={kind}",
            f"name:from={'+'.join(sorted(vocabularies))}",
            f"name:groups={'+'.join(sorted(groups))}",
            f"name:names={fewest.bit_length()}",
        )
        return facts, frozenset(forms)

    def _compare(self, name: int, surface: str, forms: frozenset[str]) -> str:
        """Return how a surface differs from the original spellings of its name."""
        if surface in forms:
            return "as written"
        if normal_name(surface) != self.kb.names[name]:
            return "other form"
        if all(_has_inner_capital(form) for form in forms):
            return "upper" if surface.isupper() else "lower for upper"
        return "upper for lower" if surface.isupper() and len(surface) > 1 else "as usual"


def _has_inner_capital(form: str) -> bool:
    return any(map(str.isupper, form[1:]))
