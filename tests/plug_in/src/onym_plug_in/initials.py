"""A linker that links a mention to the concepts with a name of the same initials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from pydantic import Field

from onym.kb import KnowledgeBase
from onym.kb.ranking import ConceptMask, rank_concepts
from onym.linkers.base import LinkerConfig, link_batches
from onym.parts import OpenContext
from onym.types import Document, Link, LinkedDocument


class Config(LinkerConfig):
    """Options of the linker."""

    kind: Literal["initials"] = "initials"
    letters: int = Field(default=1, ge=1, le=9, description="Number of letters of each word to compare.")


def open(config: Config, kb: KnowledgeBase, context: OpenContext) -> InitialsLinker:  # noqa: A001
    """Open the linker."""
    return InitialsLinker(kb, config)


class InitialsLinker:
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

    def link(
        self, documents: Iterable[Document], *, top_k: int = 10, only: ConceptMask | None = None
    ) -> Iterator[LinkedDocument]:
        """Yield each document with the concepts whose names have the initials of its mentions."""

        def links(batch: Sequence[Document]) -> Iterator[list[Link]]:
            for doc in batch:
                names = [self._names.get(self._key(mention.surface), []) for mention in doc.mentions]
                found = [rank_concepts(self.kb, [(name, 1.0) for name in each], top_k, only) for each in names]
                yield [ranked.link(mention) for mention, ranked in zip(doc.mentions, found, strict=True)]

        return link_batches(documents, links, batch=64)

    def _key(self, text: str) -> str:
        return " ".join(word[: self._config.letters] for word in text.lower().split())
