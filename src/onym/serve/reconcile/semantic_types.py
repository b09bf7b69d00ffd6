"""The types of the reconciliation service: the semantic groups and types of a knowledge base, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from onym.kb import KnowledgeBase
from onym.store.arrays import Strings
from onym.types import Candidate

_MAX_DEFAULT = 50


class SemanticTypes:
    """Finds groups and types, in any case.

    >>> types = SemanticTypes(KnowledgeBase.open(getfixture("tiny_kb")))
    >>> types.known(["c14", "Planet"]), types.beginning("c1")
    (['C14'], ['C14'])
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    @cached_property
    def labels(self) -> dict[str, str]:
        """All groups, then all types, by their names in lower case."""
        labels = [*_all(self._kb.groups), *_all(self._kb.types)]
        return {label.lower(): label for label in reversed(labels)}

    def default(self) -> list[str]:
        """Return what columns are of: the groups, or the types where there are no groups."""
        return (_all(self._kb.groups) or _all(self._kb.types))[:_MAX_DEFAULT]

    def known(self, names: Sequence[str]) -> list[str]:
        """Return those of the names that the knowledge base has."""
        return [self.labels[name.lower()] for name in names if name.lower() in self.labels]

    def of(self, candidate: Candidate) -> list[str]:
        """Return the group of a candidate, or its types where the knowledge base has no such group: what can be wanted."""
        if candidate.type.lower() in self.labels:
            return [candidate.type]
        return [self._kb.types[int(each)] for each in self._kb.concept_types[self._kb.concept_ids.find(candidate.concept_id)]]

    def beginning(self, prefix: str) -> list[str]:
        """Return the groups and types that begin so, then those that hold it."""
        wanted = prefix.strip().lower()
        found = [label for name, label in self.labels.items() if wanted in name]
        return sorted(found, key=lambda label: (not label.lower().startswith(wanted), label))


def _all(labels: Strings) -> list[str]:
    return [labels[row] for row in range(len(labels))]


def as_type(label: str) -> dict[str, str]:
    """Return a group or type as the specification has it.

    >>> as_type("Disease")
    {'id': 'Disease', 'name': 'Disease'}
    """
    return {"id": label, "name": label}
