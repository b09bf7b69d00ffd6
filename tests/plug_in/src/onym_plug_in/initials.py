"""A linker that links a mention to the concepts with a name of the same initials."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, Ranked, rank_concepts
from onym.methods.base import Linker, LinkerConfig, Rank
from onym.parts import OpenContext
from onym.text.queries import Query


class Config(LinkerConfig):
    """Options of the linker."""

    kind: Literal["initials"] = "initials"
    letters: int = Field(default=1, ge=1, le=9, description="Number of letters of each word to compare.")


def open(config: Config, kb: KnowledgeBase, context: OpenContext) -> InitialsLinker:  # noqa: A001
    """Open the linker."""
    return InitialsLinker(kb, config)


class InitialsLinker(Linker):
    """Links a mention by the first letters of its words."""

    def __init__(self, kb: KnowledgeBase, config: Config) -> None:
        self.kb, self._config = kb, config
        self._names: dict[str, list[int]] = {}
        for name in range(len(kb.names)):
            self._names.setdefault(self._key(kb.names[name]), []).append(name)

    @property
    def config(self) -> dict[str, Any]:
        """The effective configuration, stored with results."""
        return {"linker": "initials", "letters": self._config.letters}

    def ranking(self, top_k: int, allowed: ConceptMask | None = None) -> Rank:
        """Return a function that ranks the concepts whose names have the initials of a mention."""

        def rank(query: Query) -> Ranked:
            names = self._names.get(self._key(query.text), [])
            return rank_concepts(self.kb, [(name, 1.0) for name in names], top_k, allowed)

        return lambda queries: [rank(query) for query in queries]

    def _key(self, text: str) -> str:
        return " ".join(word[: self._config.letters] for word in text.lower().split())
